import { useSignal } from "@preact/signals"
import type { Connection, Harness } from "@reins/client"
import { useEffect } from "preact/hooks"
import { agentLabel } from "../agents/AgentNames.js"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Field } from "../ui/Basics.js"
import { keep, readKept } from "../ui/Kept.js"

const lastAgent = (workspaceId: string) => `reins.agent.${workspaceId}`
const lastModel = (workspaceId: string, provider: string) => `reins.model.${workspaceId}.${provider}`

/** Keeps the choice of a new session, which the next one begins with. */
export const rememberAgent = (workspaceId: string, provider: string, model: string): void => {
  keep(lastAgent(workspaceId), provider)
  if (model !== "") keep(lastModel(workspaceId, provider), model)
}

/** The agent that is chosen first: the one of the last session, where it is still there. */
const firstOf = (workspaceId: string, harnesses: ReadonlyArray<Harness>): string => {
  const last = readKept(lastAgent(workspaceId))
  return (harnesses.find(({ provider_id }) => provider_id === last) ?? harnesses[0])?.provider_id ?? ""
}

/** The agent and the model of a new session. The model that was used last comes first, and a gateway with one model leaves no choice. */
export const AgentChoice = ({
  connections,
  harnesses,
  isOfProject,
  workspaceId
}: {
  readonly harnesses: ReadonlyArray<Harness>
  readonly connections: ReadonlyArray<Connection>
  readonly workspaceId: string
  /** True where a project may name them. */
  readonly isOfProject: boolean
}) => {
  const provider = useSignal(isOfProject ? "" : firstOf(workspaceId, harnesses))
  const model = useSignal("")
  const models = useLoaded(
    "the models",
    (signal) =>
      provider.value === ""
        ? Promise.resolve([])
        : reins.catalog
            .listModels({ workspace_id: workspaceId, provider_id: provider.value }, { signal })
            .then(({ items }) => items),
    [workspaceId, provider.value]
  )
  const kind = harnesses.find(({ provider_id }) => provider_id === provider.value)?.connection?.kind
  const preferred = connections.find((each) => each.kind === kind && each.state === "active")?.preferred_model ?? null
  const listed = models.value.value ?? []
  const last = readKept(lastModel(workspaceId, provider.value))
  useEffect(() => {
    if (model.peek() !== "") return
    const known = last !== null && (listed.length === 0 || listed.some(({ id }) => id === last)) ? last : undefined
    model.value = known ?? preferred ?? (listed.length === 1 ? (listed[0]?.id ?? "") : "")
  }, [provider.value, models.value.value, preferred])
  const isUnknown = model.value !== "" && listed.length > 0 && !listed.some(({ id }) => id === model.value)
  const ordered = [...listed].sort((one, other) => Number(other.id === last) - Number(one.id === last))
  return (
    <div class="columns">
      <Field label="Agent">
        <select
          name="provider_id"
          value={provider.value}
          onChange={({ currentTarget }) => {
            provider.value = currentTarget.value
            model.value = ""
          }}
        >
          {isOfProject && <option value="">the agent of the project</option>}
          {harnesses.map((harness) => (
            <option key={harness.provider_id} value={harness.provider_id}>
              {agentLabel(harness, harnesses)}
            </option>
          ))}
        </select>
      </Field>
      <div>
        <Field
          label="Model"
          {...(isUnknown && { hint: "The gateway does not list this model." })}
          {...(models.failure.value !== undefined && { hint: models.failure.value.text })}
        >
          <input
            name="model"
            list="models"
            autocomplete="off"
            required={provider.value !== "" && !isOfProject && preferred === null}
            placeholder={preferred ?? "Choose or type a model"}
            value={model.value}
            onInput={({ currentTarget }) => (model.value = currentTarget.value)}
          />
        </Field>
        <datalist id="models">
          {ordered.map(({ display_name, id }) => (
            <option key={id} value={id}>
              {display_name ?? id}
            </option>
          ))}
        </datalist>
      </div>
    </div>
  )
}
