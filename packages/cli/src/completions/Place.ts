import type { Command, Entry, Parameter } from "../Command.js"
import { otherNames } from "../Resolved.js"

/** A word that can be typed, and one line on it. */
export interface Word {
  readonly word: string
  readonly about: string
}

/** The values of an option or argument: some words, files of this machine, or anything. */
export type Values = ReadonlyArray<string> | "files" | "anything"

/** An option that can be typed at a place. */
export interface OptionWord extends Word {
  /** Undefined for one without a value. */
  readonly values: Values | undefined
}

/** A point of the command line that the names of commands lead to. */
export interface Place {
  /** The names with a slash before each, as /sessions/list; empty for `reins` itself. */
  readonly path: string
  /** The words that lead here from the place above. */
  readonly names: ReadonlyArray<string>
  readonly above: string
  readonly commands: ReadonlyArray<Word>
  readonly options: ReadonlyArray<OptionWord>
  readonly values: Values
}

const filed = new Set(["file", "directory", "repository", "target"])

const valuesOf = ({ choices, kind, name, value }: Parameter<unknown>): Values =>
  choices ?? (filed.has(kind === "argument" ? name : (value ?? "")) ? "files" : "anything")

const help: OptionWord = { word: "--help", about: "Show the help", values: undefined }

const ofRoot: ReadonlyArray<OptionWord> = [
  help,
  { word: "--continue", about: "Go on with the newest session of this repository", values: undefined },
  { word: "--resume", about: "Choose a session of this repository to go on with", values: undefined },
  { word: "--version", about: "Print the version", values: undefined },
  { word: "--completions", about: "Print completions for a shell", values: ["bash", "zsh", "fish"] }
]

const wordsOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<Word> =>
  entries.map(({ about, name }) => ({ word: name, about }))

const placeOf = (command: Command, at: Pick<Place, "path" | "names" | "above">): Place => {
  if (command.kind === "group") return { ...at, commands: wordsOf(command.entries), options: [help], values: [] }
  const parameters = Object.values(command.takes)
  const options = parameters
    .filter(({ kind }) => kind === "option")
    .map((each) => ({
      word: `--${each.name}`,
      about: each.about,
      values: each.value === undefined ? undefined : valuesOf(each)
    }))
  const argument = parameters.find(({ kind }) => kind === "argument")
  return { ...at, commands: [], options: [...options, help], values: argument ? valuesOf(argument) : [] }
}

/** Every place of a program, those above first. */
export const places = async (entries: ReadonlyArray<Entry>): Promise<ReadonlyArray<Place>> => {
  const commands = [...wordsOf(entries), { word: "help", about: "Show what a command takes" }]
  const root: Place = { path: "", names: [], above: "", options: ofRoot, values: [], commands }
  return [root, ...(await placesBelow("", entries))]
}

const placesBelow = async (above: string, entries: ReadonlyArray<Entry>): Promise<ReadonlyArray<Place>> => {
  const found: Array<Place> = []
  for (const entry of entries) {
    const command = await entry.load()
    const path = `${above}/${entry.name}`
    found.push(placeOf(command, { path, names: [entry.name, ...otherNames(entry)], above }))
    if (command.kind === "group") found.push(...(await placesBelow(path, command.entries)))
  }
  return found
}
