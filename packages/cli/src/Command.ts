import type { NodeContext } from "@effect/platform-node"
import type { Effect } from "effect"
import { CommandFailed } from "./CommandFailed.js"

/** The value of a parameter: words, true for a switch, undefined when it was not given. */
export type Words = string | ReadonlyArray<string> | boolean | undefined

/** An option or an argument of a command, with the way to read it. */
export interface Parameter<A> {
  readonly kind: "option" | "argument"
  /** The name without dashes. */
  readonly name: string
  /** A letter that stands for the name. */
  readonly short: string | undefined
  readonly about: string
  /** The name of the value in the help; undefined for a switch. */
  readonly value: string | undefined
  readonly choices: ReadonlyArray<string> | undefined
  readonly isRequired: boolean
  readonly isRepeated: boolean
  /** The heading of the help under which it stands; undefined for what belongs to this command alone. */
  readonly group: string | undefined
  /** Throws `CommandFailed` for words that it cannot take. */
  readonly read: (words: Words) => A
}

/** The text of an option in the help, besides its name. */
interface Shown {
  readonly value?: string
  readonly group?: string
  readonly short?: string
}

const textOf = (words: Words): string | undefined => (typeof words === "string" ? words : undefined)

const parameter = <A>(
  given: Pick<Parameter<A>, "kind" | "name" | "about" | "read"> & Partial<Parameter<A>>
): Parameter<A> => ({
  value: "text",
  short: undefined,
  choices: undefined,
  isRequired: false,
  isRepeated: false,
  group: undefined,
  ...given
})

/** An option with a value, which may be absent. */
export const option = (name: string, about: string, shown: Shown = {}): Parameter<string | undefined> =>
  parameter({ kind: "option", name, about, ...shown, read: textOf })

/** An option that has to be given. */
export const requiredOption = (name: string, about: string, shown: Shown = {}): Parameter<string> =>
  parameter({ kind: "option", name, about, ...shown, isRequired: true, read: (words) => textOf(words) ?? "" })

/** An option without a value. */
export const flag = (name: string, about: string, shown: Pick<Shown, "group" | "short"> = {}): Parameter<boolean> =>
  parameter({ kind: "option", name, about, ...shown, value: undefined, read: (words) => words === true })

/** An option whose value is one of a few words. */
export const choice = <const A extends string>(
  name: string,
  choices: ReadonlyArray<A>,
  about: string,
  shown: Shown = {}
): Parameter<A | undefined> =>
  parameter({
    kind: "option",
    name,
    about,
    choices,
    value: name,
    ...shown,
    read: (words) => choices.find((each) => each === words)
  })

/** An option that may be given more than once, each time with one of a few words. */
export const choices = <const A extends string>(
  name: string,
  of: ReadonlyArray<A>,
  about: string
): Parameter<ReadonlyArray<A>> =>
  parameter({
    kind: "option",
    name,
    about,
    choices: of,
    value: name,
    isRepeated: true,
    read: (words) => of.filter((each) => listOf(words).includes(each))
  })

/** An option that may be given more than once, each time with a text. */
export const options = (name: string, about: string, shown: Shown = {}): Parameter<ReadonlyArray<string>> =>
  parameter({ kind: "option", name, about, ...shown, isRepeated: true, read: listOf })

/** An option whose value is a whole number within bounds. */
export const whole = (
  name: string,
  about: string,
  [least, most]: readonly [least: number, most: number]
): Parameter<number | undefined> =>
  parameter({
    kind: "option",
    name,
    about,
    value: "number",
    read: (words) => {
      const text = textOf(words)
      if (text === undefined) return undefined
      const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      if (number >= least && number <= most) return number
      throw new CommandFailed({ message: `--${name} has to be a number from ${least} to ${most}.` })
    }
  })

/** A word that has to be there. */
export const argument = (name: string, about: string): Parameter<string> =>
  parameter({ kind: "argument", name, about, isRequired: true, read: (words) => textOf(words) ?? "" })

/** A word that may be absent. Only the last argument may be. */
export const optionalArgument = (name: string, about: string): Parameter<string | undefined> =>
  parameter({ kind: "argument", name, about, read: textOf })

/** One word or more. Only the last argument may be. */
export const someArguments = (name: string, about: string): Parameter<ReadonlyArray<string>> =>
  parameter({ kind: "argument", name, about, isRequired: true, isRepeated: true, read: listOf })

/** One of a few words, or more of them. */
export const someOf = <const A extends string>(
  name: string,
  of: ReadonlyArray<A>,
  about: string
): Parameter<ReadonlyArray<A>> =>
  parameter({
    kind: "argument",
    name,
    about,
    choices: of,
    isRequired: true,
    isRepeated: true,
    read: (words) => of.filter((each) => listOf(words).includes(each))
  })

function listOf(words: Words): ReadonlyArray<string> {
  return Array.isArray(words) ? words.map(String) : typeof words === "string" ? [words] : []
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>

/** The values of parameters by their names in the code. */
export type Given<P extends Parameters> = { readonly [K in keyof P]: P[K] extends Parameter<infer A> ? A : never }

/** A command line with a few words on what it does. */
export type Example = readonly [words: string, about: string]

type Doing = Effect.Effect<unknown, unknown, NodeContext.NodeContext>

/** A command that does something. */
export interface Leaf {
  readonly kind: "leaf"
  readonly takes: Parameters
  readonly examples: ReadonlyArray<Example>
  /** More of it than the line in the list of commands. */
  readonly details: string | undefined
  /** The command on words. Throws `CommandFailed` for those that it cannot take. */
  readonly doing: (words: (name: string) => Words) => Doing
}

/** A command that is several. */
export interface Group {
  readonly kind: "group"
  readonly entries: ReadonlyArray<Entry>
}

export type Command = Leaf | Group

/** A command under its name. */
export interface Entry {
  readonly name: string
  /** Other names of it. */
  readonly also?: ReadonlyArray<string>
  /** One line for the list of commands. */
  readonly about: string
  /** The heading of the help under which it stands. */
  readonly group?: string
  readonly load: () => Command | Promise<Command>
}

interface Body<P extends Parameters> {
  readonly takes: P
  readonly examples: readonly [Example, Example, ...ReadonlyArray<Example>]
  readonly details?: string
  readonly run: (given: Given<P>) => Doing
}

export const command = <P extends Parameters>({ details, examples, run, takes }: Body<P>): Leaf => ({
  kind: "leaf",
  takes,
  examples,
  details,
  doing: (words) => {
    const read = Object.entries(takes).map(([name, parameter]) => [name, parameter.read(words(name))])
    // Each value comes from the parameter of its name, which TypeScript cannot see through a list of entries.
    return run(Object.fromEntries(read) as Given<P>)
  }
})

export const group = (...entries: ReadonlyArray<Entry>): Group => ({ kind: "group", entries })

/** A command of a group, whose code is there already. */
export const entry = (name: string, about: string, command: Command, ...also: ReadonlyArray<string>): Entry => ({
  name,
  about,
  also,
  load: () => command
})
