import { Effect } from "effect"
import type { AgentFacts } from "./AgentFacts.js"

/** The longest wait for the first list of an agent's commands. Agents list them shortly after they have opened a session. */
const listing = "1 second"

/** The signs with which the command lines of agents begin their own syntax, after blanks and characters that nobody sees. */
const ownSyntax = /^[\s\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]*[/!@#$]/u

/** The name that a text may call: a sign and a word, followed by a blank or by nothing. */
const calledName = /^(?:\/(\S+)|(\$\S+))(?=\s|$)/u

const isListed = (facts: AgentFacts, called: RegExpExecArray): boolean =>
  called[1] === undefined
    ? facts.hasCommand(called[2] ?? "")
    : facts.hasCommand(called[1]) || facts.hasCommand(`/${called[1]}`)

/**
 * A text that reaches the model as words. Agents take a text that begins with one of their signs for a command, and answer or drop it by
 * themselves. A line before it keeps them from that. A text that calls a command of the agent's list stays as it is.
 */
export const asWords = Effect.fnUntraced(function* (facts: AgentFacts, text: string) {
  if (!ownSyntax.test(text)) return text
  const called = calledName.exec(text)
  if (called !== null) {
    yield* Effect.timeoutOption(facts.commandsListed.await, listing)
    if (isListed(facts, called)) return text
  }
  return `The message:\n\n${text}`
})
