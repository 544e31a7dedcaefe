import type { FormContent } from "@reins/base/domain/Form"
import { askedText, gapSentence, type Interaction, type Reins, shownName } from "@reins/client"
import { tell } from "../terminal/Output.js"
import { Aborted, ask } from "../terminal/Prompts.js"
import { harmless, painter } from "../terminal/Style.js"
import { valuesOf } from "./Forms.js"
import { isClientError, sentenceOf } from "./Remote.js"

/**
 * The answer to what an agent asks: `ask` leaves it to the person at the terminal, `allow` and `refuse` take an option of that kind, and `leave`
 * gives none, because another program reads the events and may answer.
 */
export type Answering = "ask" | "allow" | "refuse" | "leave"

export interface Approvals {
  readonly asked: (interaction: Interaction) => void
  /** The agent has changed what it asks for, so it is asked again. */
  readonly changed: (interaction: Interaction) => void
  /** It was answered, here or elsewhere, or nobody did in time. */
  readonly resolved: (interaction: Interaction) => void
  /** Takes the open questions away. */
  readonly close: () => void
}

interface Asking {
  readonly reins: Reins
  readonly answering: Answering
  /** Makes room below what is written. */
  readonly endLine: () => void
  /** Ctrl-C is a key to the question and no signal. */
  readonly interrupt: () => void
}

/** Answers the questions of a turn, one after the other. */
export const approvals = ({ answering, endLine, interrupt, reins }: Asking): Approvals => {
  const open = new Map<string, AbortController>()
  let last = Promise.resolve()

  const settle = async (interaction: Interaction, closed: AbortController): Promise<void> => {
    if (closed.signal.aborted) return
    endLine()
    try {
      const given = await answerOf(interaction, answering, closed.signal)
      if (given === undefined) return
      await reins.interactions.answer({ interaction_id: interaction.id, ...given })
    } catch (error) {
      // It was answered elsewhere while it was shown here.
      if (closed.signal.aborted) return
      if (error instanceof Aborted) interrupt()
      else if (isClientError(error)) tell(`The answer was not taken: ${sentenceOf(error)}`)
      else throw error
    }
  }

  const asked = (interaction: Interaction): void => {
    // A program answers the call of a function.
    if (answering === "leave" || interaction.kind === "tool_call" || open.has(interaction.id)) return
    const closed = new AbortController()
    open.set(interaction.id, closed)
    last = last.then(() => settle(interaction, closed))
  }

  return {
    asked,
    changed: (interaction) => {
      open.get(interaction.id)?.abort()
      open.delete(interaction.id)
      if (answering !== "leave") last = last.then(() => tell("The agent has changed what it asks for."))
      asked(interaction)
    },
    resolved: ({ id }) => open.get(id)?.abort(),
    close: () => {
      for (const closed of open.values()) closed.abort()
    }
  }
}

interface GivenAnswer {
  readonly answer: string
  readonly seen?: string
  readonly content?: FormContent
}

/** The details of a question as a terminal shows them, with the lines of a change in their colours. */
export const shownDetails = (interaction: Interaction, stream: NodeJS.WriteStream): string => {
  const text = harmless(askedText(interaction))
  if (interaction.subject === null || interaction.subject.edits.length === 0) return text
  const paint = painter(stream)
  return text.replaceAll(/^([+-]) .*$/gm, (line, sign) => paint(sign === "+" ? "green" : "red", line))
}

/** The digest of what was shown, for the answer. */
export const seenOf = ({ subject }: Interaction): { readonly seen?: string } =>
  subject === null ? {} : { seen: subject.digest }

/** Asks once more before something is allowed that cannot be shown whole. False leaves it as it is. */
export const isMeant = async (interaction: Interaction, answer: string, signal?: AbortSignal): Promise<boolean> => {
  const { kind, options, subject } = interaction
  const isLeave = options.find(({ id }) => id === answer)?.kind.startsWith("allow") ?? false
  if (kind !== "approval" || !isLeave || subject?.complete === true) return true
  const gap = subject === null ? undefined : gapSentence(subject)
  return ask.confirmation(
    `${gap ?? "Not all of it can be shown."} Allow it all the same?`,
    false,
    signal === undefined ? {} : { signal }
  )
}

const answerOf = async (
  interaction: Interaction,
  answering: Answering,
  signal: AbortSignal
): Promise<GivenAnswer | undefined> => {
  const { budget_of, form, kind, options, title, url } = interaction
  const paint = painter(process.stderr)
  if (kind === "budget") return budgetAnswerOf({ budget_of, options, title }, answering, signal)
  const what = `${kind === "approval" ? "The agent asks to" : "The agent asks"}: ${shownName(title)}`
  const details = shownDetails(interaction, process.stderr)
  if (details !== "") tell(details)
  if (answering !== "ask") {
    const wanted = answering === "allow" ? /^allow/ : /^reject/
    const found = options.find((option) => wanted.test(option.kind))?.id ?? interaction.default ?? undefined
    const name = options.find(({ id }) => id === found)?.name ?? "nothing"
    tell(`${paint("yellow", "?")} ${what} -> ${harmless(name)}${answering === "allow" ? "" : refusal}`)
    return found === undefined ? undefined : { answer: found, ...seenOf(interaction) }
  }
  if (url !== null) tell(harmless(url))
  const choices = options.map(({ id, name }) => ({ value: id, label: harmless(name) }))
  let answer = await ask.choice(what, choices, { signal })
  while (!(await isMeant(interaction, answer, signal))) answer = await ask.choice(what, choices, { signal })
  const takesValues = form !== null && options.find(({ id }) => id === answer)?.kind === "accept"
  return { answer, ...seenOf(interaction), ...(takesValues && { content: await valuesOf(form, signal) }) }
}

/** A budget is raised with a command of its own, which nobody gives where there is no terminal. */
const budgetAnswerOf = async (
  { budget_of, options, title }: Pick<Interaction, "budget_of" | "options" | "title">,
  answering: Answering,
  signal: AbortSignal
): Promise<GivenAnswer | undefined> => {
  const stop = options[0]
  tell(
    `${painter(process.stderr)("yellow", "?")} ${harmless(title)}. Raise it: reins budget ${budget_of ?? "ID"} AMOUNT`
  )
  if (answering !== "ask") return stop && { answer: stop.id }
  const choices = [
    { value: "", label: "Wait until somebody has raised it" },
    ...options.map(({ id, name }) => ({ value: id, label: harmless(name) }))
  ]
  const answer = await ask.choice("The turn waits", choices, { signal })
  return answer === "" ? undefined : { answer }
}

const refusal = " (no terminal to ask; --approve allows it)"
