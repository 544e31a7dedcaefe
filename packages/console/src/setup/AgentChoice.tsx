import { useSignal } from "@preact/signals"
import type { Connection, Harness, SessionsCreateInput } from "@reins/client"
import { useEffect } from "preact/hooks"
import { agentLabel } from "../agents/AgentLabel.js"
import { connectionsOf, lastModelOf, readModels, rememberModel } from "../agents/Models.js"
import { useLoaded } from "../api/Loading.js"
import { Field } from "../ui/Basics.js"
import { type Choice, Combobox } from "../ui/Combobox.js"
import { keep, readKept } from "../ui/Kept.js"

/** A gateway with so many models or fewer was set up by hand, and lists the one to begin with first. */
const fewModels = 5

const lastAgent = (workspaceId: string) => `reins.agent.${workspaceId}`

/** Keeps the choice of a new session, which the next one begins with. */
export const rememberAgent = (workspaceId: string, provider: string, model: string): void => {
  keep(lastAgent(workspaceId), provider)
  rememberModel(workspaceId, provider, model)
}

/** The agent that is chosen first: the one of the last session, else one that has a connection. */
const firstOf = (
  workspaceId: string,
  harnesses: ReadonlyArray<Harness>,
  connections: ReadonlyArray<Connection>
): string => {
  const last = readKept(lastAgent(workspaceId))
  const chosen =
    harnesses.find(({ provider_id }) => provider_id === last) ??
    harnesses.find((each) => connectionsOf(each, connections).length > 0) ??
    harnesses[0]
  return chosen?.provider_id ?? ""
}

/** The agents to choose from, the one that was used last first. */
export const agentChoices = (
  workspaceId: string,
  harnesses: ReadonlyArray<Harness>,
  isOfProject: boolean
): ReadonlyArray<Choice> => {
  const last = readKept(lastAgent(workspaceId))
  const choiceOf = (group: string) => (harness: Harness) => ({
    value: harness.provider_id,
    name: agentLabel(harness, harnesses),
    group
  })
  const recent = harnesses.filter(({ provider_id }) => provider_id === last)
  const others = harnesses.filter(({ provider_id }) => provider_id !== last)
  return [
    ...(isOfProject ? [{ value: "", name: ofProject, group: "" }] : []),
    ...recent.map(choiceOf("Used last")),
    ...others.map(choiceOf(recent.length === 0 ? "" : "All agents"))
  ]
}

const ofProject = "the agent and the model of the project"

/** True while somebody is in the field of this name. A value that came then would mix with theirs. */
const isTyped = (name: string): boolean => document.activeElement?.getAttribute("name") === name

/** The agent and the model of a new session. The model that was used last comes first, and a gateway with one model leaves no choice. */
export const AgentChoice = ({
  connections,
  given,
  harnesses,
  isOfProject,
  workspaceId
}: {
  readonly harnesses: ReadonlyArray<Harness>
  readonly connections: ReadonlyArray<Connection>
  readonly workspaceId: string
  /** True where a project may name them. */
  readonly isOfProject: boolean
  /** The agent and the model to begin with, where something has them already. */
  readonly given?: Pick<SessionsCreateInput, "connection_id" | "harness"> | undefined
}) => {
  const first = isOfProject ? "" : firstOf(workspaceId, harnesses, connections)
  const provider = useSignal(given?.harness?.provider_id ?? first)
  const isChosen = useSignal(given?.harness !== undefined)
  const model = useSignal(given?.harness?.model ?? "")
  const connection = useSignal(given?.connection_id ?? "")
  const own = connectionsOf(
    harnesses.find(({ provider_id }) => provider_id === provider.value),
    connections
  )
  const models = useLoaded("the models", (signal) => readModels(workspaceId, provider.value, own, signal), [
    workspaceId,
    provider.value,
    own.map(({ id }) => id)
  ])
  // A project brings an agent of its own. It takes the place of one that nobody has chosen, and of no other.
  useEffect(() => {
    if (isChosen.peek() || provider.peek() === first) return
    provider.value = first
    model.value = ""
    connection.value = ""
  }, [isOfProject])
  const preferred = own[0]?.preferred_model ?? null
  const listed = models.value.value?.choices ?? []
  const last = lastModelOf(workspaceId, provider.value)
  useEffect(() => {
    if (model.peek() !== "" || models.value.value === undefined || isTyped("model")) return
    const known =
      last !== null && (listed.length === 0 || listed.some(({ value }) => value === last)) ? last : undefined
    const first = known ?? preferred ?? (listed.length <= fewModels ? listed[0]?.value : undefined) ?? ""
    model.value = first
    connection.value = listed.find(({ value }) => value === first)?.connectionId ?? ""
  }, [provider.value, models.value.value, preferred])
  const isUnknown = model.value !== "" && listed.length > 0 && !listed.some(({ value }) => value === model.value)
  const hint = isUnknown ? "The gateway does not list this model." : models.value.value?.trouble
  return (
    <div class="columns">
      <Field label="Agent">
        <Combobox
          name="provider_id"
          choices={agentChoices(workspaceId, harnesses, isOfProject)}
          isStrict
          required={!isOfProject}
          placeholder="Search an agent"
          value={provider.value}
          onChoose={(value) => {
            if (value === provider.peek()) return
            isChosen.value = value !== ""
            provider.value = value
            model.value = ""
            connection.value = ""
          }}
        />
      </Field>
      {/* The agent of a project has the model of the project. */}
      {provider.value !== "" && (
        <div>
          <Field label="Model" {...(hint !== undefined && { hint })}>
            <Combobox
              name="model"
              choices={listed}
              required={!isOfProject && preferred === null}
              placeholder={preferred ?? "Search or type a model"}
              value={model.value}
              onChoose={(value, choice) => {
                isChosen.value = true
                model.value = value
                const of = listed.find((each) => each === choice) ?? listed.find((each) => each.value === value)
                connection.value = of?.connectionId ?? ""
              }}
            />
          </Field>
          {own.length > 1 && <input type="hidden" name="connection_id" value={connection.value} />}
        </div>
      )}
    </div>
  )
}
