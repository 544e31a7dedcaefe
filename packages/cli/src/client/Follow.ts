import { once } from "node:events"
import type { Interaction, MessageDelta, Reins, TurnSnapshot, TypedEvent } from "@reins/client"
import { takeInterrupts } from "../terminal/Interrupts.js"
import { tell } from "../terminal/Output.js"
import { inSeconds } from "../terminal/Progress.js"
import { harmlessJson, hasColors, painter } from "../terminal/Style.js"
import { type Answering, approvals } from "./Approvals.js"
import { turnReason } from "./ErrorSentences.js"
import { exitCodes, isClientError, sentenceOf } from "./Remote.js"
import { TurnView } from "./TurnView.js"

/** The reader of the events of a turn: a person, or a program that takes lines of JSON. */
export interface Display {
  readonly event: (event: TypedEvent) => void
  readonly delta: ((delta: MessageDelta) => void) | undefined
  readonly line: (text: string) => void
  readonly endLine: () => void
}

export const display = async (json: boolean): Promise<Display> => {
  if (!json) return new TurnView(await markdownLines())
  return {
    event: (event) => void process.stdout.write(`${harmlessJson(event)}\n`),
    delta: undefined,
    line: () => undefined,
    endLine: () => undefined
  }
}

/** Shows Markdown on a terminal; undefined where a reader wants the words as they are. It is loaded for the first answer. */
const markdownLines = async () => {
  if (!hasColors(process.stdout)) return undefined
  const { MarkdownLines } = await import("../terminal/MarkdownLines.js")
  return new MarkdownLines(() => process.stdout.columns || 80, painter(process.stdout))
}

export interface Following {
  readonly reins: Reins
  readonly sessionId: string
  readonly turnId: string
  /** The event after which to begin. */
  readonly after: number
  readonly display: Display
  readonly answering: Answering
  /** The first Ctrl-C cancels the turn or leaves it running. A second one always leaves it. */
  readonly interrupt: "cancel" | "leave"
}

/** Follows a turn to its end. Undefined when the person has left it before. */
export const follow = async (following: Following): Promise<TurnSnapshot | undefined> => {
  const { after, display, reins, sessionId: session_id, turnId: turn_id } = following
  const left = new AbortController()
  const interrupts = takeInterrupts((times) => {
    display.endLine()
    if (following.interrupt === "leave" || times > 1) return left.abort()
    tell("Cancelling the turn. Ctrl-C again leaves it to the server.")
    reins.turns.cancel({ turn_id }).catch((error: unknown) => {
      if (!isClientError(error)) throw error
      tell(`The turn could not be cancelled: ${sentenceOf(error)}`)
    })
  })
  const { answering } = following
  const asking = approvals({ reins, answering, endLine: display.endLine, interrupt: interrupts.press })
  const onDelta = display.delta && { onDelta: display.delta }
  try {
    const events = reins.sessions.stream({ session_id, after, ...onDelta }, { signal: left.signal })
    for await (const event of events) {
      display.event(event)
      if (process.stdout.writableNeedDrain) await once(process.stdout, "drain")
      if (event.turn_id !== turn_id) continue
      const question = questionOf(event)
      if (event.type === "turn.action_changed") asking.changed(event.payload.interaction)
      else if (question?.state === "pending") asking.asked(question)
      else if (question !== undefined) asking.resolved(question)
      const turn = endOf(event)
      if (turn !== undefined) return turn
    }
    return undefined
  } catch (error) {
    if (left.signal.aborted) return undefined
    throw error
  } finally {
    asking.close()
    display.endLine()
    interrupts.release()
  }
}

const questionOf = (event: TypedEvent): Interaction | undefined =>
  event.type === "turn.action_required" || event.type === "turn.action_resolved" ? event.payload.interaction : undefined

const endOf = (event: TypedEvent): TurnSnapshot | undefined => {
  switch (event.type) {
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
      return event.payload.turn
    default:
      return undefined
  }
}

/** The exit code that tells how a turn has ended. */
export const exitCodeOf = (turn: TurnSnapshot | undefined): number => {
  if (turn === undefined) return exitCodes.detached
  const codes: Readonly<Record<string, number>> = {
    succeeded: 0,
    failed: exitCodes.turnFailed,
    interrupted: exitCodes.turnInterrupted,
    cancelled: exitCodes.cancelled
  }
  return codes[turn.state] ?? exitCodes.failed
}

/** Says on a terminal what a turn took and cost, and where the console shows it. What nobody knows is left out. */
export const tellSummary = (turn: TurnSnapshot | undefined, url: string): void => {
  if (turn === undefined || process.stderr.isTTY !== true) return
  const { finished_at, session_id, started_at, usage } = turn
  const seconds = (Date.parse(finished_at ?? "") - Date.parse(started_at ?? "")) / 1000
  const count = (tokens: number) => tokens.toLocaleString("en-US")
  const facts = [
    Number.isNaN(seconds) ? undefined : inSeconds(seconds),
    usage.input_tokens === null ? undefined : `${count(usage.input_tokens)} tokens read`,
    usage.output_tokens === null ? undefined : `${count(usage.output_tokens)} written`,
    usage.cost_usd === null ? undefined : `$${usage.cost_usd.toFixed(usage.cost_usd < 0.1 ? 4 : 2)}`
  ].filter((fact) => fact !== undefined)
  const paint = painter(process.stderr)
  tell(paint("dim", `${facts.join(", ")}${facts.length === 0 ? "" : " · "}${url}/ui/sessions/${session_id}`))
}

/** Says on the standard error how a turn has ended, unless it succeeded. */
export const tellEnd = (turn: TurnSnapshot | undefined, sessionId: string): void => {
  const paint = painter(process.stderr)
  if (turn === undefined) tell(`The turn goes on without you. Look at it again: reins sessions watch ${sessionId}`)
  else if (turn.state === "cancelled") tell(paint("yellow", "The turn was cancelled."))
  else if (turn.state !== "succeeded")
    tell(paint("red", `The turn ${turn.state === "failed" ? "failed" : "was interrupted"}: ${turnReason(turn)}`))
}
