import type { Command, Entry } from "./Command.js"
import { CommandFailed } from "./CommandFailed.js"
import { didYouMean } from "./terminal/Suggestion.js"

/** A command with the names by which it is called, and the words that were typed after them. */
export interface Resolved {
  /** The names below `reins`; none for `reins` itself. */
  readonly path: ReadonlyArray<string>
  readonly about: string
  readonly command: Command
  readonly words: ReadonlyArray<string>
}

const rootAbout = "One API for every coding agent."

/** Other names that every command of the name has. */
const equals: Readonly<Record<string, string>> = { list: "ls", ls: "list", remove: "rm", rm: "remove" }

/** The other names of a command. */
export const otherNames = ({ also = [], name }: Entry): ReadonlyArray<string> => {
  const equal = equals[name]
  return equal === undefined ? also : [...also, equal]
}

const isCalled = (word: string) => (entry: Entry) => entry.name === word || otherNames(entry).includes(word)

/** The command of a program that the words name. Throws `CommandFailed` for a word that names none. */
export const resolve = async (entries: ReadonlyArray<Entry>, typed: ReadonlyArray<string>): Promise<Resolved> => {
  let found: Resolved = { path: [], about: rootAbout, command: { kind: "group", entries }, words: typed }
  while (found.command.kind === "group") {
    const [word, ...words] = found.words
    // The group itself is asked for its help or its version.
    if (word === undefined || word.startsWith("-")) break
    const { command, path } = found
    const entry = command.entries.find(isCalled(word))
    if (entry === undefined) throw unknownCommand(path, word, command.entries)
    found = { path: [...path, entry.name], about: entry.about, command: await entry.load(), words }
  }
  return found
}

const unknownCommand = (path: ReadonlyArray<string>, word: string, entries: ReadonlyArray<Entry>): CommandFailed => {
  const known = entries.flatMap((entry) => [entry.name, ...otherNames(entry)])
  const meant = didYouMean(word, known, (name) => ["reins", ...path, name].join(" "))
  const all = path.length === 0 ? "See: reins help" : `There are: ${entries.map(({ name }) => name).join(", ")}.`
  return new CommandFailed({
    message: `There is no command "${[...path, word].join(" ")}".${meant === "" ? ` ${all}` : meant}`
  })
}

/** Every command that does something, in the order of the help. */
export const everyCommand = async (
  entries: ReadonlyArray<Entry>,
  above: ReadonlyArray<string> = []
): Promise<ReadonlyArray<Resolved>> => {
  const found: Array<Resolved> = []
  for (const { about, load, name } of entries) {
    const command = await load()
    const path = [...above, name]
    if (command.kind === "leaf") found.push({ path, about, command, words: [] })
    else found.push(...(await everyCommand(command.entries, path)))
  }
  return found
}
