import type { Parameter } from "./Command.js"
import { CommandFailed } from "./CommandFailed.js"
import type { Resolved } from "./Resolved.js"
import { tell } from "./terminal/Output.js"
import { ask, isInteractive } from "./terminal/Prompts.js"

/** Asks a person for every option and argument of a command, and gives the words that say the same. */
export const askedWords = async ({ command, path }: Resolved): Promise<ReadonlyArray<string>> => {
  if (command.kind === "group")
    throw new CommandFailed({ message: "--wizard goes with a command, as in: reins run --wizard" })
  if (!isInteractive()) throw new CommandFailed({ message: "--wizard asks at a terminal, and here is none." })
  const takes = Object.values(command.takes)
  const [flags, positions]: [Array<string>, Array<string>] = [[], []]
  for (const each of takes) (each.kind === "option" ? flags : positions).push(...(await wordsOf(each)))
  const words = [...flags, ...(positions.length === 0 ? [] : ["--", ...positions])]
  tell(`$ ${["reins", ...path, ...words].map(quoted).join(" ")}`)
  return words
}

const wordsOf = async (parameter: Parameter<unknown>): Promise<ReadonlyArray<string>> => {
  const { about, choices, isRequired, kind, name, value } = parameter
  const question = `${kind === "option" ? `--${name}` : name}: ${about}`
  const named = (word: string) => (word === "" ? [] : kind === "option" ? [`--${name}`, word] : [word])
  if (kind === "option" && value === undefined) return (await ask.confirmation(question, false)) ? [`--${name}`] : []
  if (choices === undefined)
    return named(
      await ask.text(question, "", {
        fault: (text) => (isRequired && text.trim() === "" ? "It cannot be empty." : undefined)
      })
    )
  const none = isRequired ? [] : [{ value: "", label: "(leave it out)" }]
  return named(await ask.choice(question, [...none, ...choices.map((word) => ({ value: word, label: word }))]))
}

const quoted = (word: string): string => (/^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
