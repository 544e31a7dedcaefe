import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { homeDirectory } from "@reins/base/base/HomeDirectory"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { Array, Option, Schema } from "effect"

/** The agent and the models that a person has chosen last for a repository. */
const Choice = Schema.Struct({
  server: Schema.String,
  repository: Schema.String,
  /** The id of the provider; null where the person left it to the server. */
  agent: Schema.NullOr(Schema.String),
  /** The model of each provider. */
  models: Schema.Record({ key: Schema.String, value: Schema.String })
})
type Choice = typeof Choice.Type

/** Another release may have written some that this one cannot read. They cost nobody the others. */
const readable = Schema.decodeUnknownOption(Choice)

const decode = Schema.decodeUnknownOption(Schema.parseJson(Schema.Struct({ choices: Schema.Array(Schema.Unknown) })))

/** The newest stay. */
const most = 200

/** The file of the choices, below `XDG_STATE_HOME` or `~/.local/state`; undefined for a user without a home. */
export const choicesFile = (): string | undefined => {
  const home = homeDirectory()
  const states = process.env["XDG_STATE_HOME"] || (home === undefined ? undefined : join(home, ".local", "state"))
  return states === undefined ? undefined : join(states, "reins", "choices.json")
}

const stored = (file: string): ReadonlyArray<Choice> => {
  try {
    return Option.match(decode(readFileSync(file, "utf8")), {
      onNone: () => [],
      onSome: ({ choices }) => Array.filterMap(choices, (each) => readable(each))
    })
  } catch {
    // There is none yet, or this user may not read it: the person chooses anew.
    return []
  }
}

/** A repository of a server. */
export interface ChosenFor {
  readonly server: string
  readonly repository: string
}

const isFor =
  ({ repository, server }: ChosenFor) =>
  (choice: Choice): boolean =>
    choice.server === server && choice.repository === repository

/** The last choices for a repository; undefined for none. */
export const choiceFor = (where: ChosenFor): Pick<Choice, "agent" | "models"> | undefined => {
  const file = choicesFile()
  return file === undefined ? undefined : stored(file).find(isFor(where))
}

/** The choice of a person: the agent, and a model of a provider. It leaves the rest as it was. */
interface Chosen {
  readonly agent?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

/** Keeps a choice for the next session, in a file for this user alone. A choice that cannot be kept is asked for again. */
export const keepChoice = (where: ChosenFor, { agent, model, provider }: Chosen): void => {
  const file = choicesFile()
  if (file === undefined) return
  const known = stored(file)
  const before = known.find(isFor(where))
  const next: Choice = {
    server: where.server,
    repository: where.repository,
    agent: agent ?? before?.agent ?? null,
    models: { ...before?.models, ...(model !== undefined && provider !== undefined && { [provider]: model }) }
  }
  const choices = [next, ...known.filter((each) => !isFor(where)(each))].slice(0, most)
  const partial = `${file}.${process.pid}.tmp`
  try {
    makeDirectory(dirname(file), 0o700)
    try {
      writeFileSync(partial, `${JSON.stringify({ choices }, null, 2)}\n`, { mode: 0o600, flag: "wx" })
      renameSync(partial, file)
    } finally {
      rmSync(partial, { force: true })
    }
  } catch {
    // The work goes on without it.
  }
}
