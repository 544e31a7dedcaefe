import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk"
import type { AgentOption, Model, PermissionPolicy, Reins, Session } from "@reins/client"

/** A mode of an editor is what the agent may do by itself. `project` is what the session began with. */
export const modes = {
  project: { name: "As the project says", description: "What the project or the server allows", policy: undefined },
  ask: { name: "Ask first", description: "Ask before edits and commands", policy: changing("ask") },
  auto: { name: "Let it work", description: "Allow everything within its workspace", policy: { default: "allow" } },
  look: { name: "Look only", description: "Refuse edits and commands", policy: changing("deny") }
} as const satisfies Readonly<
  Record<string, { readonly name: string; readonly description: string; readonly policy: PermissionPolicy | undefined }>
>

export type ModeName = keyof typeof modes

export const modeNames = ["project", "ask", "auto", "look"] as const satisfies ReadonlyArray<ModeName>

function changing(what: "ask" | "deny") {
  return { default: "allow", tools: { edit: what, execute: what, delete: what, move: what } } as const
}

interface Offered {
  readonly models: ReadonlyArray<Model>
  /** True where the agent asks a person, so that modes mean something. */
  readonly canAsk: boolean
  /** What the agent may do by itself in the mode `project`. */
  readonly first: PermissionPolicy | null
  /** False for an editor that shows lists alone. */
  readonly takesBooleans: boolean
}

interface Chosen {
  readonly model: string | undefined
  readonly mode: ModeName
  /** The agent's own options that were chosen, by id. */
  readonly options: Readonly<Record<string, unknown>>
}

/** The settings of a session as the editor shows and changes them. */
export class Settings {
  private agentOptions: ReadonlyArray<AgentOption> = []

  private constructor(
    private readonly reins: Reins,
    private readonly sessionId: string,
    private readonly offered: Offered,
    private chosen: Chosen
  ) {}

  /** Reads what can be set. A session without a model gets one, since its first message would be refused. */
  static readonly read = async (reins: Reins, session: Session, takesBooleans: boolean): Promise<Settings> => {
    const { model, options, provider_id } = session.harness
    const { id: session_id, workspace_id } = session
    const [harnesses, models, preferred] = await Promise.all([
      reins.catalog.listHarnesses(),
      // A gateway that does not answer takes the choice away, and not the session.
      reins.catalog.listModels({ workspace_id, provider_id }).then(
        ({ items }) => items,
        () => []
      ),
      model === null ? preferredModel(reins, session) : null
    ])
    const usable = models.filter((each) => each.provider_id === provider_id)
    const chosen = model ?? preferred ?? usable[0]?.id
    if (model === null && preferred === null && chosen !== undefined)
      await reins.sessions.update({ session_id, model: chosen })
    const harness = harnesses.items.find((each) => each.provider_id === provider_id)
    const canAsk = harness?.capabilities["interactive_approval"] === "supported"
    const mode = modeOf(session.permissions)
    const offered = { models: usable, canAsk, first: session.permissions, takesBooleans }
    return new Settings(reins, session_id, offered, { model: chosen, mode, options: options ?? {} })
  }

  /** The modes; undefined where the agent asks nobody. */
  readonly modeState = (): SessionModeState | undefined =>
    this.offered.canAsk
      ? {
          currentModeId: this.chosen.mode,
          availableModes: modeNames.map((id) => ({ id, name: modes[id].name, description: modes[id].description }))
        }
      : undefined

  /** Changes the mode; false for one that there is not. */
  readonly setMode = async (id: string): Promise<boolean> => {
    const mode = modeNames.find((each) => each === id)
    if (mode === undefined || !this.offered.canAsk) return false
    await this.reins.sessions.update({
      session_id: this.sessionId,
      permissions: modes[mode].policy ?? this.offered.first
    })
    this.chosen = { ...this.chosen, mode }
    return true
  }

  readonly listed = (options: ReadonlyArray<AgentOption>): void => {
    this.agentOptions = options
  }

  readonly options = (): Array<SessionConfigOption> => {
    const { models: all, takesBooleans } = this.offered
    const models = all.filter(({ id }, index) => all.findIndex((each) => each.id === id) === index)
    const model: ReadonlyArray<SessionConfigOption> =
      this.chosen.model === undefined || models.length === 0
        ? []
        : [
            {
              id: "model",
              name: "Model",
              category: "model",
              type: "select",
              currentValue: this.chosen.model,
              options: models.map(({ display_name, id }) => ({ value: id, name: display_name ?? id }))
            }
          ]
    return [...model, ...this.modeOptions(), ...this.agentOptions.flatMap((each) => agentOption(each, takesBooleans))]
  }

  /** The modes once more: editors that know options leave modes alone. */
  private modeOptions(): ReadonlyArray<SessionConfigOption> {
    const state = this.modeState()
    if (state === undefined) return []
    const options = state.availableModes.map(({ description, id, name }) => ({
      value: id,
      name,
      ...(description != null && { description })
    }))
    const { currentModeId: currentValue } = state
    return [{ id: modeOption, name: "Permissions", category: "mode", type: "select", currentValue, options }]
  }

  /** Changes an option. Gives the sentence that refuses it; undefined when it is changed. */
  readonly setOption = async (id: string, value: string | boolean): Promise<string | undefined> => {
    const offered = this.options().find((option) => option.id === id)
    if (offered === undefined) return `There is no option "${id}".`
    if (!takes(offered, value)) return `The option "${id}" does not take this value.`
    const session_id = this.sessionId
    if (id === modeOption) {
      await this.setMode(String(value))
      return undefined
    }
    if (id === "model") {
      await this.reins.sessions.update({ session_id, model: String(value) })
      this.chosen = { ...this.chosen, model: String(value) }
      return undefined
    }
    const found = this.agentOptions.find((option) => `${ofAgent}${option.id}` === id)
    if (found === undefined) return `There is no option "${id}".`
    const meant = valueFor(found, value)
    const options = { ...this.chosen.options, [found.id]: meant }
    await this.reins.sessions.update({ session_id, options })
    this.chosen = { ...this.chosen, options }
    this.agentOptions = this.agentOptions.map((option) => (option === found ? { ...option, value: meant } : option))
    return undefined
  }
}

/** The id of the option that is the mode, too. */
export const modeOption = "mode"

const takes = (option: SessionConfigOption, value: string | boolean): boolean => {
  if (option.type === "boolean") return typeof value === "boolean"
  return option.type === "select" && option.options.some((each) => "value" in each && each.value === value)
}

/** Reins and the agent may both have a mode, so the names of the agent's options begin with this. */
const ofAgent = "agent."

const on = "on"

/** The value that the agent gets for one that an editor has chosen. */
export const valueFor = ({ value }: Pick<AgentOption, "value">, chosen: string | boolean): string | boolean =>
  typeof value === "boolean" && typeof chosen === "string" ? chosen === on : chosen

/** An option of an agent as an editor shows it; none for one that has no value. */
export const agentOption = (
  { category, choices, description, id, name, value }: AgentOption,
  takesBooleans: boolean
): Array<SessionConfigOption> => {
  if (category === "model" || value === null) return []
  const shared = {
    id: `${ofAgent}${id}`,
    name,
    ...(description !== null && { description }),
    ...(category !== null && category !== "mode" && { category })
  }
  if (typeof value === "boolean" && takesBooleans) return [{ ...shared, type: "boolean", currentValue: value }]
  // An editor that knows lists alone gets a list of two.
  if (typeof value === "boolean")
    return [{ ...shared, type: "select", currentValue: value ? on : "off", options: onOrOff }]
  const options = choices.map((choice) => ({ value: choice.value, name: choice.name }))
  return options.length === 0 ? [] : [{ ...shared, type: "select", currentValue: value, options }]
}

const onOrOff = [
  { value: on, name: "On" },
  { value: "off", name: "Off" }
]

/** The model that the connection of a session prefers; null for none. */
const preferredModel = async (reins: Reins, session: Session): Promise<string | null> => {
  const { harness, workspace_id } = session
  const connections = await reins.connections.list({ workspace_id, limit: 200 }).all()
  const fitting = connections.filter(
    ({ id, state }) => state === "active" && (harness.connection_id === null || id === harness.connection_id)
  )
  return fitting.find(({ preferred_model }) => preferred_model !== null)?.preferred_model ?? null
}

const modeOf = (policy: PermissionPolicy | null): ModeName => {
  const same = (mode: ModeName) => JSON.stringify(modes[mode].policy) === JSON.stringify(ordered(policy))
  return policy === null ? "project" : (modeNames.find((mode) => mode !== "project" && same(mode)) ?? "project")
}

/** A policy with its parts in the order of those of the modes. */
const ordered = (policy: PermissionPolicy | null): PermissionPolicy => {
  const { default: usual, tools } = policy ?? {}
  const { delete: erase, edit, execute, move, ...others } = tools ?? {}
  const known = { edit, execute, delete: erase, move, ...others }
  return { ...(usual != null && { default: usual }), ...(tools != null && { tools: known }) }
}
