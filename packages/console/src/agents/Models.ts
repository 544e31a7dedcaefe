import type { Connection, Harness } from "@reins/client"
import { failureOf } from "../api/Failure.js"
import { reins } from "../api/Server.js"
import type { Choice } from "../ui/Combobox.js"
import { keep, readKept } from "../ui/Kept.js"

/** A model with the connection that leads to it. */
export interface ModelChoice extends Choice {
  readonly connectionId: string
}

/** The models of an agent over all its connections, and a sentence where a gateway did not list its own. */
export interface Models {
  readonly choices: ReadonlyArray<ModelChoice>
  readonly trouble: string | undefined
}

const lastModel = (workspaceId: string, provider: string) => `reins.model.${workspaceId}.${provider}`

/** The model that this browser used last with an agent. */
export const lastModelOf = (workspaceId: string, provider: string): string | null =>
  readKept(lastModel(workspaceId, provider))

/** Keeps the model, which comes first the next time. */
export const rememberModel = (workspaceId: string, provider: string, model: string): void => {
  if (model !== "") keep(lastModel(workspaceId, provider), model)
}

/** The connections that an agent can use, the newest first. A session without a word for one takes the first. */
export const connectionsOf = (
  harness: Pick<Harness, "connection"> | undefined,
  connections: ReadonlyArray<Connection>
): ReadonlyArray<Connection> =>
  connections.filter(({ kind, state }) => kind === harness?.connection?.kind && state === "active")

/** Asks the gateway of each connection for its models; undefined is the one that a session takes. The model that was used last comes first. */
export const readModels = async (
  workspace_id: string,
  provider_id: string,
  connections: ReadonlyArray<Pick<Connection, "id" | "label"> | undefined>,
  signal: AbortSignal
): Promise<Models> => {
  const last = lastModelOf(workspace_id, provider_id)
  const lists = await Promise.all(
    connections.map(async (connection) => {
      try {
        const of = { workspace_id, provider_id, ...(connection !== undefined && { connection_id: connection.id }) }
        const { items } = await reins.catalog.listModels(of, { signal })
        const choices = items.map((model) => ({
          value: model.id,
          name: model.display_name ?? model.id,
          group: connection?.label ?? "",
          connectionId: connection?.id ?? ""
        }))
        return { choices, trouble: undefined }
      } catch (error) {
        return { choices: [], trouble: failureOf(error).text }
      }
    })
  )
  const all = lists.flatMap(({ choices }) => choices)
  const recent = all
    .filter(({ value }) => value === last)
    .map((each) => ({ ...each, group: each.group === "" ? "Used last" : `Used last · ${each.group}` }))
  return {
    choices: [...recent, ...all.filter(({ value }) => value !== last)],
    trouble: lists.find(({ trouble }) => trouble !== undefined)?.trouble
  }
}
