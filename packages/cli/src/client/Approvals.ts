import type { FormContent } from "@reins/base/domain/Form"
import { askedText, escapeUnseen, type Interaction, type Reins } from "@reins/client"
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

  const settle = async (interaction: Interaction): Promise<void> => {
    const closed = open.get(interaction.id)
    if (closed === undefined || closed.signal.aborted) return
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

  return {
    asked: (interaction) => {
      // A program answers the call of a function.
      if (answering === "leave" || interaction.kind === "tool_call" || open.has(interaction.id)) return
      open.set(interaction.id, new AbortController())
      last = last.then(() => settle(interaction))
    },
    resolved: ({ id }) => open.get(id)?.abort(),
    close: () => {
      for (const closed of open.values()) closed.abort()
    }
  }
}

interface GivenAnswer {
  readonly answer: string
  readonly content?: FormContent
}

const answerOf = async (
  interaction: Interaction,
  answering: Answering,
  signal: AbortSignal
): Promise<GivenAnswer | undefined> => {
  const { budget_of, form, kind, options, title, url } = interaction
  const paint = painter(process.stderr)
  if (kind === "budget") return budgetAnswerOf({ budget_of, options, title }, answering, signal)
  const what = `${kind === "approval" ? "The agent asks to" : "The agent asks"}: ${escapeUnseen(title)}`
  const details = askedText(interaction)
  if (details !== "") tell(harmless(details))
  if (answering !== "ask") {
    const wanted = answering === "allow" ? /^allow/ : /^reject/
    const found = options.find((option) => wanted.test(option.kind))?.id ?? interaction.default ?? undefined
    const name = options.find(({ id }) => id === found)?.name ?? "nothing"
    tell(`${paint("yellow", "?")} ${what} -> ${harmless(name)}${answering === "allow" ? "" : refusal}`)
    return found === undefined ? undefined : { answer: found }
  }
  if (url !== null) tell(harmless(url))
  const choices = options.map(({ id, name }) => ({ value: id, label: harmless(name) }))
  const answer = await ask.choice(what, choices, { signal })
  const takesValues = form !== null && options.find(({ id }) => id === answer)?.kind === "accept"
  return { answer, ...(takesValues && { content: await valuesOf(form, signal) }) }
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
