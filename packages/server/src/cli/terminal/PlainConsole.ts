import { stripVTControlCharacters } from "node:util"
import { Console, Effect } from "effect"
import { hasColors } from "./Style.js"

const write =
  (stream: NodeJS.WriteStream) =>
  (...words: ReadonlyArray<unknown>): Effect.Effect<void> =>
    Effect.sync(() => {
      const text = `${listed(words.map(String).join(" ")).trimEnd()}\n`
      stream.write(hasColors(stream) ? text : stripVTControlCharacters(text))
    })

const entry = /^ {2}- ([a-z]+(?: [a-z]+)?)(?: .*?)? {2,}(\S.*)$/

/** A help whose list of commands is readable: the library puts all options of a command beside its name, and an empty line after it. */
const listed = (help: string): string =>
  help
    .split("\n")
    .map((line) => {
      const [, name, description] = entry.exec(stripVTControlCharacters(line)) ?? []
      return name === undefined ? line : `  - ${name.padEnd(18)} ${description?.split(". ")[0]}`
    })
    .join("\n")
    .replaceAll(/^( {2}- .*)\n\n(?= {2}- )/gm, "$1\n")

/** Runs a command whose help and errors have colours only where they can be seen: the library that writes them always adds them. */
export const withPlainConsole = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.consoleWith((console) =>
    Effect.withConsole(command, { ...console, log: write(process.stdout), error: write(process.stderr) })
  )
