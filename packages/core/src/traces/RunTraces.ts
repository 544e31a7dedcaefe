import { type AgentTracing, placeIn, type TurnPlace } from "@reins/base/base/AgentTraces"
import { cutText } from "@reins/base/base/CutText"
import type { HarnessEvent, Tool } from "@reins/machine/harness/HarnessEvent"
import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import type { CallTool } from "@reins/machine/relay/mcp/ToolOffer"
import { Clock, Effect } from "effect"
import type { RunningAttempt } from "../jobs/JobKind.js"
import { type ContentBlock, type Message, textOf } from "../sessions/rows/Message.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { type Mask, secretMask } from "../sessions/SecretMask.js"

/** The longest text of content in a trace, in characters. */
const longestContent = 8 * 1024

/** A text for a trace. Its secrets are blanked before it is cut, because half of a secret would not be found. */
const tracedText = (text: string): string => cutText(text, longestContent)

/** The turn that an agent runs for. */
export interface RunTurn {
  readonly turn: Pick<Turn, "id">
  readonly session: SessionRow
  readonly message: Pick<Message, "content">
  readonly attempt: Pick<RunningAttempt, "claim">
}

/** Tells the traces of agents of one run of an agent. */
export interface RunTraces {
  /** A model call has ended. */
  readonly called: (call: ModelCall) => void
  /** The agent has said or done something. */
  readonly heard: (event: HarnessEvent) => Effect.Effect<void>
  /** The agent has ended with this answer, and the tools that it has left open have ended with it. */
  readonly over: (answer: ReadonlyArray<ContentBlock>) => Effect.Effect<void>
  /** Answers the calls of tools of the service, each as a part of the trace. */
  readonly answering: (callTool: CallTool) => CallTool
}

const isOpen = ({ state }: Tool): boolean => state === "pending" || state === "running"

interface OpenTool {
  readonly startedAt: number
  readonly tool: Tool
}

/** Gives the function that begins the traces of a run. */
export const makeRunTraces = Effect.fnUntraced(function* (traces: AgentTracing) {
  const maskOf = yield* secretMask
  return (work: RunTurn): RunTraces => {
    const place: TurnPlace = {
      turnId: work.turn.id,
      sessionId: work.session.id,
      within: placeIn(work.attempt.claim.payload)
    }
    const open = new Map<string, OpenTool>()
    const ended = new Set<string>()
    const masked = traces.sendsContent ? maskOf(work.session) : undefined
    const tell = makeTell(traces, place, masked)
    const tellAnswer = (answer: ReadonlyArray<ContentBlock>) =>
      masked === undefined
        ? Effect.void
        : Effect.map(
            Effect.flatMap(masked, (mask) => mask({ input: textOf(work.message.content), output: textOf(answer) })),
            ({ input, output }) => traces.said(place, { input: tracedText(input), output: tracedText(output) })
          )
    return {
      called: (call) => traces.modelCall(place, call),
      heard: (event) => {
        if (event._tag !== "tool" || ended.has(event.tool_id)) return Effect.void
        return Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const tool: OpenTool = { startedAt: open.get(event.tool_id)?.startedAt ?? now, tool: event }
          if (isOpen(event)) {
            open.set(event.tool_id, tool)
            return Effect.void
          }
          open.delete(event.tool_id)
          ended.add(event.tool_id)
          return tell(tool)
        })
      },
      over: (answer) => {
        const left = [...open.values()]
        open.clear()
        return Effect.zipRight(Effect.forEach(left, tell, { discard: true }), tellAnswer(answer))
      },
      answering: (callTool) => (call) =>
        traces.hosted(
          place,
          { tool: call.tool, callId: call.call_id },
          { work: callTool(call), problemOf: ({ is_error }) => (is_error ? "tool_error" : undefined) }
        )
    }
  }
})

/** Tells of a tool that has ended. Each time the secrets are looked up anew, because a turn may get new ones. */
const makeTell = (traces: AgentTracing, place: TurnPlace, masked: Effect.Effect<Mask> | undefined) =>
  Effect.fnUntraced(function* ({ startedAt, tool }: OpenTool) {
    const endedAt = yield* Clock.currentTimeMillis
    const { kind, state, tool_id: toolId } = tool
    const content = masked && (yield* Effect.flatMap(masked, (mask) => contentOf(tool, mask)))
    traces.toolEnded(place, { toolId, kind, state, startedAt, endedAt, ...(content && { content }) })
  })

const contentOf = ({ input, output_text }: Tool, mask: Mask) =>
  Effect.map(mask({ input, output: output_text ?? "" }), (clean) => ({
    input: tracedText(JSON.stringify(clean.input) ?? ""),
    output: tracedText(clean.output)
  }))
