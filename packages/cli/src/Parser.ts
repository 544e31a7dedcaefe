import { Argument, Command as Commander, CommanderError, Option } from "commander"
import type { Entry, Leaf, Parameter, Words } from "./Command.js"
import { CommandFailed } from "./CommandFailed.js"
import { otherNames, type Resolved } from "./Resolved.js"
import { hasColors, painter } from "./terminal/Style.js"
import { didYouMean } from "./terminal/Suggestion.js"

/** The words of a command by the names of its parameters; undefined when its help or the version was asked for, which is written. */
export const parse = (resolved: Resolved): ((name: string) => Words) | undefined => {
  const parser = parserOf(resolved)
  try {
    parser.parse([...resolved.words], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return undefined
    throw new CommandFailed({ message: sentenceOf(error, resolved) })
  }
  const { command } = resolved
  if (command.kind === "group") return undefined
  const options: Readonly<Record<string, unknown>> = parser.opts()
  const given = new Map<string, unknown>()
  const positions = Object.entries(command.takes).filter(([, { kind }]) => kind === "argument")
  for (const [at, [name]] of positions.entries()) given.set(name, parser.processedArgs[at])
  for (const [name, parameter] of Object.entries(command.takes))
    if (parameter.kind === "option") given.set(name, options[keyOf(parameter)])
  return (name) => asWords(given.get(name))
}

/** Writes the help of a command on the standard output. */
export const writeHelp = (resolved: Resolved): void => parserOf(resolved).outputHelp()

/** The help of a command as it is written to a pipe. */
export const helpOf = (resolved: Resolved): string => parserOf(resolved).helpInformation()

const asWords = (value: unknown): Words =>
  typeof value === "string" || typeof value === "boolean" ? value : Array.isArray(value) ? value.map(String) : undefined

/** The name by which the library keeps the value of an option. */
const keyOf = (parameter: Parameter<unknown>): string => optionOf(parameter).attributeName()

const parserOf = ({ about, command, path }: Resolved): Commander => {
  const parents = ["reins", ...path.slice(0, -1)].join(" ")
  const parser = new Commander(path.at(-1) ?? "reins")
    .exitOverride()
    .helpCommand(false)
    .showSuggestionAfterError(false)
    .addHelpOption(new Option("-h, --help", "Show this help").helpGroup(globalHeading))
    .description(`${about}${about.endsWith(".") ? "" : "."}${detailsOf(command)}`)
    .configureHelp({
      commandUsage: (each) => `${path.length === 0 ? "" : `${parents} `}${each.name()} ${each.usage()}`.trimEnd(),
      subcommandTerm: (each) => [each.name(), ...each.aliases()].join(", "),
      optionDescription: ({ argChoices, description }) =>
        argChoices === undefined ? description : `${description}: ${argChoices.join(", ")}`,
      argumentDescription: ({ description }) => description,
      styleTitle: (title) => painter(process.stdout)("bold", title),
      styleOptionTerm: (term) => painter(process.stdout)("cyan", term),
      styleSubcommandTerm: (term) => painter(process.stdout)("cyan", term),
      styleArgumentTerm: (term) => painter(process.stdout)("cyan", term)
    })
    .configureOutput({
      writeOut: (text) => void process.stdout.write(text),
      writeErr: () => undefined,
      outputError: () => undefined,
      // A pipe has no width: a line of the help stays a line.
      getOutHelpWidth: () => (process.stdout.isTTY ? process.stdout.columns || 80 : 1000),
      getOutHasColors: () => hasColors(process.stdout)
    })
  if (path.length === 0)
    parser
      .optionsGroup(globalHeading)
      .option("-c, --continue", "Go on with the newest session of this repository")
      .option("-r, --resume", "Choose a session of this repository to go on with")
      .option("-V, --version", "Print the version")
      .option("--completions <shell>", "Print completions for bash, zsh or fish")
  if (command.kind === "group") {
    parser.usage("<command>")
    for (const entry of command.entries) parser.addCommand(listed(entry))
    parser.addHelpText("after", `\nSee what a command takes: ${["reins", "help", ...path].join(" ")} <command>`)
    return parser
  }
  addParameters(parser, command)
  parser.addHelpText("after", `\n${painter(process.stdout)("bold", "Examples:")}\n${examplesOf(command)}`)
  return parser
}

/** The heading of what every command takes. */
const globalHeading = "Global:"

const detailsOf = (command: Resolved["command"]): string =>
  command.kind === "leaf" && command.details !== undefined ? `\n${command.details}` : ""

/** A command as its group lists it. */
const listed = (entry: Entry): Commander => {
  const parser = new Commander(entry.name).description(entry.about).aliases([...otherNames(entry)])
  return entry.group === undefined ? parser : parser.helpGroup(entry.group)
}

const addParameters = (parser: Commander, { takes }: Leaf): void => {
  const parameters = Object.values(takes)
  for (const { about, choices, isRepeated, isRequired, kind, name } of parameters) {
    if (kind !== "argument") continue
    const dots = isRepeated ? "..." : ""
    const argument = new Argument(isRequired ? `<${name}${dots}>` : `[${name}${dots}]`, about)
    parser.addArgument(choices === undefined ? argument : argument.choices(choices))
  }
  const options = parameters.filter(({ kind }) => kind === "option")
  for (const each of options.filter(({ group }) => group === undefined)) parser.addOption(optionOf(each))
  for (const each of options.filter(({ group }) => group !== undefined)) parser.addOption(optionOf(each))
}

const optionOf = (parameter: Parameter<unknown>): Option => {
  const { about, choices, group, isRepeated, isRequired, name, short, value } = parameter
  const option = new Option(
    `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`,
    about
  )
  if (choices !== undefined) option.choices(choices)
  if (isRepeated)
    option.argParser<ReadonlyArray<string>>((word, before = []) => {
      if (choices?.includes(word) === false) throw new CommandFailed({ message: notOf(parameter, word) })
      return [...before, word]
    })
  if (group !== undefined) option.helpGroup(group)
  return option.makeOptionMandatory(isRequired)
}

const notOf = ({ choices = [], kind, name }: Parameter<unknown>, word: string): string =>
  `${kind === "option" ? "--" : ""}${name} cannot be "${word}".${didYouMean(word, choices)} There are: ${choices.join(", ")}.`

const examplesOf = ({ examples }: Leaf): string =>
  examples.map(([words, about]) => `  # ${about}\n  ${words}`).join("\n")

/** The sentence for words that the parser of the library has refused, with the next step. */
const sentenceOf = ({ code, message }: CommanderError, { command, path }: Resolved): string => {
  const name = path.join(" ")
  const help = `See: reins help ${path.join(" ")}`.trimEnd()
  const [, word = ""] = /'([^']*)'/.exec(message) ?? []
  const takes = command.kind === "leaf" ? Object.values(command.takes) : []
  const flags = [...takes.filter(({ kind }) => kind === "option").map((each) => `--${each.name}`), "--help"]
  const called = takes.find((each) => each.name === (/^--([\w-]+)/.exec(word)?.[1] ?? word))
  switch (code) {
    case "commander.unknownOption": {
      const flag = word.split("=")[0] ?? word
      const meant = didYouMean(
        flag,
        path.length === 0 ? [...flags, "--version", "--completions", "--continue", "--resume"] : flags
      )
      return `There is no option ${flag}.${meant === "" ? ` ${help}` : meant}`
    }
    case "commander.missingArgument":
      return `${name} needs <${word}>: ${called?.about ?? "a word"}. ${help}`
    case "commander.missingMandatoryOptionValue":
      return `${name} needs --${called?.name ?? word}: ${called?.about ?? "a value"}. ${help}`
    case "commander.optionMissingArgument":
      return `--${called?.name ?? word} needs a value: ${called?.about ?? ""}. ${help}`
    case "commander.invalidArgument": {
      const [, given = "", argument] =
        /value '([^']*)' [^']*argument '([^']*)'/.exec(message) ?? / argument '([^']*)' is invalid/.exec(message) ?? []
      const refused = takes.find((each) => each.name === argument) ?? called
      return refused === undefined ? message : notOf(refused, given)
    }
    case "commander.excessArguments": {
      const most = takes.filter(({ kind }) => kind === "argument").length
      const count = most === 0 ? "no argument" : most === 1 ? "1 argument" : `${most} arguments`
      return `${name} takes ${count}. Put quotes around words that belong together. ${help}`
    }
    default:
      return `${message.replace(/^error: /, "")}. ${help}`
  }
}
