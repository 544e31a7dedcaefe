import { stripVTControlCharacters } from "node:util"
import { Console, Effect } from "effect"
import { hasColors } from "./Style.js"

const write =
  (stream: NodeJS.WriteStream) =>
  (...words: ReadonlyArray<unknown>): Effect.Effect<void> =>
    Effect.sync(() => {
      const line = `${words.map(String).join(" ").trimEnd()}\n`
      stream.write(hasColors(stream) ? line : stripVTControlCharacters(line))
    })

/** Runs a command whose help and errors have colours only where they can be seen: the library that writes them always adds them. */
export const withPlainConsole = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.consoleWith((console) =>
    Effect.withConsole(command, { ...console, log: write(process.stdout), error: write(process.stderr) })
  )
