import { type Connection, type Reins, ReinsApiError } from "@reins/client"
import { builtInGateways } from "@reins/core/Core"
import type { GatewayProtocol } from "@reins/core/domain/GatewayProtocol"
import { Effect } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { chosenProvider } from "../client/Providers.js"
import { attempt } from "../client/Remote.js"
import { tell } from "../terminal/Output.js"
import { progress } from "../terminal/Progress.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"
import type { Answers, Gateway } from "./InitAnswers.js"

/** The flags of `reins init` about the connection. */
export interface WantedConnection {
  /** The default of the server when absent. */
  readonly provider: string | undefined
  readonly gateway: string | undefined
  readonly protocol: GatewayProtocol | undefined
  readonly model: string | undefined
}

/** A connection of the workspace that the gateway has confirmed, with the model that sessions take. */
export const readyConnection = (
  reins: Reins,
  workspaceId: string,
  wanted: WantedConnection,
  gateway: Answers["gateway"]
) =>
  Effect.gen(function* () {
    const { connection: needed, provider_id } = yield* attempt(async () =>
      chosenProvider((await reins.catalog.listHarnesses()).items, wanted.provider)
    )
    const kind = kindOf(needed?.kind)
    if (kind === undefined) {
      const message = `${provider_id} takes no gateway of models, so \`reins init\` cannot connect it. Connect it by the API.`
      return yield* new CommandFailed({ message })
    }
    const found = yield* attempt(() =>
      findConnection(reins, workspaceId, { kind: kind.kind, protocols: needed?.protocols }, wanted)
    )
    const connection =
      found ?? (yield* Effect.flatMap(gateway, (given) => attempt(() => create(reins, workspaceId, kind, given))))
    return yield* attempt(() => checked(reins, workspaceId, connection, { model: wanted.model, provider: provider_id }))
  })

type GatewayKind = (typeof builtInGateways)[number]

/** A kind that a gateway of models and its key make a connection of; undefined for every other one. */
const kindOf = (name: string | undefined): GatewayKind | undefined => builtInGateways.find(({ kind }) => kind === name)

/** The one that sessions would take: the newest, or the one of the gateway that was named, with the key that was given. */
const findConnection = async (
  reins: Reins,
  workspace_id: string,
  needed: { readonly kind: string; readonly protocols: ReadonlyArray<string> | undefined },
  { gateway, protocol }: WantedConnection
): Promise<Connection | undefined> => {
  const { items } = await reins.connections.list({ workspace_id, limit: 200 })
  const found = items
    .filter((each) => each.kind === needed.kind && each.state === "active")
    .filter(({ settings }) => needed.protocols?.includes(settings["protocol"] ?? "") !== false)
    .filter(({ settings }) => gateway === undefined || settings["base_url"] === gateway)
    .sort((one, other) => other.created_at.localeCompare(one.created_at))[0]
  const api_key = process.env["REINS_GATEWAY_KEY"]
  if (found === undefined || !api_key) return found
  const credential = { ...found.settings, ...(protocol !== undefined && { protocol }), api_key }
  return reins.connections.replaceCredential({ connection_id: found.id, credential })
}

const create = (
  reins: Reins,
  workspace_id: string,
  { kind }: GatewayKind,
  { api_key, base_url, protocol }: Gateway
): Promise<Connection> => {
  const common = { workspace_id, label: new URL(base_url).host }
  const credential = { base_url, api_key }
  switch (kind) {
    case "beta":
      return reins.connections.create({ ...common, kind, credential })
    case "gateway":
      return reins.connections.create({ ...common, kind, credential: { ...credential, protocol } })
    case "alpha_gateway": {
      if (protocol === "gemini")
        throw new CommandFailed({ message: `Connections of the kind ${kind} do not speak ${protocol}.` })
      return reins.connections.create({ ...common, kind, credential: { ...credential, protocol } })
    }
  }
}

/** Has the gateway confirm the connection, and gives it the model that sessions take. */
const checked = async (
  reins: Reins,
  workspaceId: string,
  connection: Connection,
  { model, provider }: { readonly model: string | undefined; readonly provider: string }
) => {
  // A gateway that lists no models is asked through one of them.
  const before = model ?? connection.preferred_model
  if (before !== null) await prefer(reins, connection, before)
  await validate(reins, connection)
  const chosen = before ?? (await chooseModel(reins, workspaceId, provider))
  await prefer(reins, connection, chosen)
  return { gateway: harmless(connection.settings["base_url"] ?? connection.label), model: harmless(chosen) }
}

/** Has the server ask the gateway. A person may try another key when this one is refused. */
const validate = async (reins: Reins, { id: connection_id, settings }: Connection): Promise<void> => {
  for (;;) {
    const busy = progress()
    busy.say("Asking the gateway")
    const { operation, validation: begun } = await reins.connections.validate({ connection_id })
    await reins.jobs.wait(operation).finally(busy.clear)
    const { items } = await reins.connections.listValidations({ connection_id, limit: 20 })
    const validation = items.find(({ id }) => id === begun.id)
    if (validation?.state === "passed") return
    const why = harmless(validation?.reason_message ?? "The connection could not be checked.")
    if (validation?.reason !== "credential_refused" || !isInteractive()) throw new CommandFailed({ message: why })
    tell(why)
    const api_key = await ask.secret("Another API key")
    await reins.connections.replaceCredential({ connection_id, credential: { ...settings, api_key } })
  }
}

const chooseModel = async (reins: Reins, workspace_id: string, provider_id: string): Promise<string> => {
  const models = await listModels(reins, workspace_id, provider_id)
  const [only] = models
  if (only !== undefined && models.length === 1) return only
  if (isInteractive())
    return models.length === 0 ? ask.text("The model") : ask.oneOf("Which model? Type to search", models)
  const known = models.length === 0 ? "" : ` There are: ${models.slice(0, 20).join(", ")}.`
  throw new CommandFailed({ message: `There is no model to take. Name one with --model.${known}` })
}

/** Not every gateway lists what it has. */
const listModels = async (reins: Reins, workspace_id: string, provider_id: string): Promise<ReadonlyArray<string>> => {
  try {
    return (await reins.catalog.listModels({ workspace_id, provider_id })).items.map(({ id }) => id)
  } catch (error) {
    if (error instanceof ReinsApiError && /^(?:upstream_error|unsupported_capability)$/.test(error.code)) return []
    throw error
  }
}

const prefer = async (reins: Reins, { id, preferred_model }: Connection, model: string): Promise<void> => {
  if (preferred_model !== model) await reins.connections.update({ connection_id: id, preferred_model: model })
}
