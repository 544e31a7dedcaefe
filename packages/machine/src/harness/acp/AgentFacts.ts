import { cutText } from "@reins/base/base/CutText"
import { Effect, Option, Schema } from "effect"
import type { AgentOption } from "../AgentReport.js"
import type { Reported } from "../HarnessEvent.js"
import {
  AvailableCommands,
  type ConfigOption,
  ConfigOptions,
  CurrentMode,
  SessionInfo,
  type SessionResult
} from "./AcpSchema.js"

const maxCommands = 200
const maxOptions = 100
const maxChoices = 200
const maxWords = 500

const decodeCommands = Schema.decodeUnknownOption(AvailableCommands)
const decodeOptions = Schema.decodeUnknownOption(ConfigOptions)
const decodeMode = Schema.decodeUnknownOption(CurrentMode)
const decodeInfo = Schema.decodeUnknownOption(SessionInfo)

type Events = ReadonlyArray<Reported>

/**
 * The facts of a native session beyond any one turn: its commands, its options and its title. Agents tell of it when the session opens,
 * before there is a turn to tell it to, and whenever it changes.
 */
export class AgentFacts {
  private commands: Reported | undefined
  private commandNames: ReadonlySet<string> = new Set()
  /** Open once the agent has listed its commands. */
  readonly commandsListed = Effect.unsafeMakeLatch(false)
  private title: Reported | undefined
  private configured: ReadonlyArray<AgentOption> = []
  private modes: AgentOption | undefined
  private models: AgentOption | undefined

  /** Takes what the answer to the opening of the session tells. */
  opened({ configOptions, models, modes }: SessionResult): void {
    if (configOptions !== null && configOptions !== undefined) this.configured = configOptions.map(toOption)
    if (modes !== null && modes !== undefined)
      this.modes = chosen("mode", "Mode", modes.currentModeId, modes.availableModes ?? [])
    if (models !== null && models !== undefined) {
      const known = (models.availableModels ?? []).map(({ modelId, ...model }) => ({ id: modelId, ...model }))
      this.models = chosen("model", "Model", models.currentModelId ?? null, known)
    }
  }

  /** Takes an update, and gives what is to be told of it. None for an update of another kind or in a form that is not known. */
  update(kind: string, update: object): Option.Option<Events> {
    switch (kind) {
      case "available_commands_update":
        return Option.map(decodeCommands(update), ({ availableCommands }) => {
          this.commandNames = new Set(availableCommands.map(({ name }) => name))
          this.commandsListed.unsafeOpen()
          this.commands = {
            _tag: "commands",
            commands: availableCommands.slice(0, maxCommands).map(({ description, input, name }) => ({
              name: cut(name),
              description: cut(description ?? ""),
              hint: input?.hint === null || input?.hint === undefined ? null : cut(input.hint)
            }))
          }
          return [this.commands]
        })
      case "config_option_update":
        return Option.map(decodeOptions(update), ({ configOptions }) => {
          this.configured = configOptions.map(toOption)
          return [this.listed()]
        })
      case "current_mode_update":
        return Option.map(decodeMode(update), ({ currentModeId }) => {
          this.modes = { ...(this.modes ?? chosen("mode", "Mode", null, [])), value: currentModeId }
          return [this.listed()]
        })
      case "session_info_update":
        return Option.map(decodeInfo(update), ({ title }) => {
          if (title === undefined) return []
          this.title = { _tag: "title", title: title === null ? null : cut(title) }
          return [this.title]
        })
      default:
        return Option.none()
    }
  }

  /** True for a command of the agent's last list. */
  hasCommand(name: string): boolean {
    return this.commandNames.has(name)
  }

  /** The options of the session. An agent that has options for its modes or models lists those, and may list the older form beside them. */
  get options(): ReadonlyArray<AgentOption> {
    const older = [this.modes, this.models].flatMap((option) =>
      option === undefined || this.configured.some(({ category }) => category === option.category) ? [] : [option]
    )
    return [...this.configured, ...older].slice(0, maxOptions)
  }

  /** True for an option that has to be set by the older methods, because the agent has no option for it. */
  isOlder(option: AgentOption): boolean {
    return !this.configured.includes(option)
  }

  /** All that is known, for a turn that begins. */
  known(): Events {
    return [
      ...(this.commands === undefined ? [] : [this.commands]),
      ...(this.options.length === 0 ? [] : [this.listed()]),
      ...(this.title === undefined ? [] : [this.title])
    ]
  }

  private listed(): Reported {
    return { _tag: "options", options: this.options }
  }
}

const cut = (text: string): string => cutText(text, maxWords)

const chosen = (
  id: string,
  name: string,
  value: string | null,
  known: ReadonlyArray<{
    readonly id: string
    readonly name?: string | null | undefined
    readonly description?: string | null | undefined
  }>
): AgentOption => ({
  id,
  name,
  description: null,
  category: id,
  value,
  choices: known.slice(0, maxChoices).map((each) => ({
    value: each.id,
    name: cut(each.name ?? each.id),
    description: each.description === null || each.description === undefined ? null : cut(each.description)
  }))
})

const toOption = ({ category, currentValue, description, id, name, options }: ConfigOption): AgentOption => ({
  id,
  name: cut(name ?? id),
  description: description === null || description === undefined ? null : cut(description),
  category: category ?? null,
  value: typeof currentValue === "string" || typeof currentValue === "boolean" ? currentValue : null,
  choices: (options ?? [])
    .flatMap((choice) => ("options" in choice ? choice.options : [choice]))
    .slice(0, maxChoices)
    .map((choice) => ({
      value: choice.value,
      name: cut(choice.name ?? choice.value),
      description: choice.description === null || choice.description === undefined ? null : cut(choice.description)
    }))
})
