import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { CoreLimits } from "@reins/base/base/CoreLimits"
import { failpoint } from "@reins/base/base/Failpoint"
import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { Manifests } from "@reins/machine/harness/Manifests"
import type { CallTool, OfferedCall, ToolAnswer } from "@reins/machine/relay/mcp/ToolOffer"
import { Context, Effect, Exit, Fiber, Layer, Option, type Scope } from "effect"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { logDefect } from "../store/FailedStatement.js"
import { makeMayCall, turnPrincipal } from "./Acting.js"
import { CallLedger } from "./CallLedger.js"
import { makeFittingAnswer } from "./FittingAnswer.js"
import { putInWords } from "./ResultInWords.js"
import { type HostedTool, ToolFailed, type ToolFailure, ToolReply, type ToolTurn, textOfTool } from "./Tool.js"
import { awaitCall, ownServer, ToolSources, toolKey } from "./ToolSources.js"

/** Runs the tools that agents call. */
export class ToolRuns extends Context.Tag("@reins/core/tools/ToolRuns")<
  ToolRuns,
  {
    /** Answers the calls of the agent in a turn, until the scope closes. */
    readonly of: (session: SessionRow, turn: Turn) => Effect.Effect<CallTool, never, Scope.Scope>
  }
>() {
  static readonly layer = Layer.effect(
    ToolRuns,
    Effect.gen(function* () {
      const { limits } = yield* CoreConfig
      const fitting = yield* makeFittingAnswer
      const ledger = yield* CallLedger
      const manifests = yield* Manifests
      const sources = yield* ToolSources
      const turns = yield* TurnStore
      const principalOf = yield* turnPrincipal
      const mayAct = yield* makeMayCall

      /** The turn that this one tries again, and so on to the first. */
      const rootOf = Effect.fnUntraced(function* (turn: Turn) {
        let root = turn
        while (root.retry_of_turn_id !== null) {
          const before = yield* turns.find(root.retry_of_turn_id)
          if (before === undefined) break
          root = before
        }
        return root.id
      })

      const run = Effect.fnUntraced(function* (
        turn: ToolTurn,
        tool: HostedTool,
        call: OfferedCall,
        { patienceMs, takesImages }: CallerManners
      ) {
        const key = tool.keyOf(turn, call.input)
        const id = yield* ledger.open(turn.turn, { ...call, tool: tool.ownName ?? call.tool }, key)
        yield* failpoint("tool.called")
        const { answer: whole, state } = yield* tool
          .run(turn, call.input, { callId: call.call_id, key, patienceMs })
          .pipe(
            Effect.map((value) => ended(answerOf(value))),
            Effect.catchAll((failure) =>
              Effect.succeed(ended(said(textOfTool(failure), true), isUnknown(failure) ? "outcome_unknown" : "failed"))
            ),
            Effect.catchAllDefect((defect) =>
              Effect.as(logDefect(`the tool ${call.tool} has failed`, defect), ended(said(brokenTool, true)))
            ),
            Effect.onInterrupt(() => ledger.end(id, "cancelled", null))
          )
        const told = putInWords(whole, takesImages)
        const answer = { ...told, text: yield* fitting(turn.session.id, told.text) }
        yield* failpoint("tool.committed")
        yield* ledger.end(id, state, answer)
        return answer
      })

      return ToolRuns.of({
        of: fn("ToolRuns.of")(function* (session, turn) {
          const scope = yield* Effect.scope
          const manners = (yield* Effect.orDie(manifests.get(session.provider_id))).tools
          const calls = new TurnCalls(scope, limits)
          const patienceOf = ({ hears_progress }: OfferedCall) =>
            manners === undefined || (hears_progress && manners.progress) ? Infinity : manners.hold_seconds * 1000
          /** Looked up once, because a turn keeps its message. The right of the account is looked up at each call. */
          const context = yield* once(
            Effect.gen(function* () {
              const principal = yield* principalOf(session, turn)
              return principal && { principal, session, turn, rootTurnId: yield* rootOf(turn), count: calls.countAlike }
            })
          )
          const answer: CallTool = Effect.fnUntraced(function* (call) {
            if (call.server === ownServer && call.tool === awaitCall.name)
              return yield* calls.again(call, patienceOf(call))
            const tool = (yield* sources.toolsOf(session)).get(toolKey(call.server, call.tool))
            const toolTurn = yield* context
            if (tool === undefined) return said(`The tool ${call.tool} is not there any more.`, true)
            if (toolTurn === undefined) return said(nobodysTurn, true)
            if (!(yield* mayAct(toolTurn.principal))) return said(noRight, true)
            const caller = { patienceMs: patienceOf(call), takesImages: manners?.images !== false }
            const running = run(toolTurn, tool, call, caller)
            return yield* calls.join(call, patienceOf(call), { run: running, isKept: tool.isKept === true })
          })
          return answer
        })
      })
    })
  )
}

const ended = (
  answer: ToolAnswer,
  state: "succeeded" | "failed" | "outcome_unknown" = answer.is_error ? "failed" : "succeeded"
) => ({ answer, state })

const isUnknown = (failure: ToolFailure): boolean => failure instanceof ToolFailed && failure.mayHaveHappened === true

const answerOf = (value: unknown): ToolAnswer => {
  if (value instanceof ToolReply)
    return { ...said(value.text, value.is_error), ...(value.images.length > 0 && { images: value.images }) }
  return said(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), false)
}

/** The abilities of the agent that makes a call. */
interface CallerManners {
  /** The longest time until it has to have an answer, in milliseconds. */
  readonly patienceMs: number
  /** False where it passes no image on to its model. */
  readonly takesImages: boolean
}

/** A call that runs, or that has run. */
interface KnownCall {
  readonly fiber: Fiber.RuntimeFiber<ToolAnswer>
  /** The tool and its input. */
  readonly what: string
  /** True for a call that goes on while nobody waits. */
  readonly isKept: boolean
  /** Those that wait for its answer. */
  waiting: number
  /** True once the agent has its answer. */
  isDelivered: boolean
}

interface Begun {
  readonly run: Effect.Effect<ToolAnswer>
  readonly isKept: boolean
}

/** The calls of one turn. A call that is sent again is the same call, and gets the same answer. */
class TurnCalls {
  private readonly known = new Map<string, KnownCall>()
  private readonly byId = new Map<string, KnownCall>()
  private readonly counts = new Map<string, number>()
  private open = 0
  private count = 0

  constructor(
    private readonly scope: Scope.Scope,
    private readonly limits: Pick<CoreLimits, "openToolCalls" | "toolCallsPerTurn">
  ) {}

  private get tooMany(): string {
    const { openToolCalls, toolCallsPerTurn } = this.limits
    return this.count >= toolCallsPerTurn
      ? `A turn makes at most ${toolCallsPerTurn} calls of tools, and this one has made them. Go on without tools of Reins.`
      : `At most ${openToolCalls} calls may be open at once. Wait for one of them, then call again.`
  }

  /** `ToolTurn.count`. */
  readonly countAlike = (what: string): number => {
    const next = (this.counts.get(what) ?? 0) + 1
    this.counts.set(what, next)
    return next
  }

  /**
   * Waits for the call, which runs in a fiber of the turn. When nobody waits any more the agent has withdrawn it. It is then interrupted, unless it
   * is kept for a call of the same.
   */
  join(call: OfferedCall, patienceMs: number, begun: Begun): Effect.Effect<ToolAnswer> {
    return Effect.acquireUseRelease(
      this.begin(call, begun),
      (held) =>
        held === undefined ? Effect.succeed(said(this.tooMany, true)) : answerIn(held, call.call_id, patienceMs),
      (held, exit) => {
        if (held === undefined) return Effect.void
        held.waiting -= 1
        return Exit.isInterrupted(exit) && held.waiting === 0 && !held.isKept
          ? Effect.asVoid(Fiber.interrupt(held.fiber))
          : Effect.void
      }
    )
  }

  /** Waits on for a call whose answer was not there in time. Whoever stops waiting leaves it running. */
  again({ input }: OfferedCall, patienceMs: number): Effect.Effect<ToolAnswer> {
    const id = typeof input === "object" && input !== null && "call_id" in input ? String(input.call_id) : ""
    const found = this.byId.get(id)
    return found === undefined
      ? Effect.succeed(
          said(`No call ${id} of this turn is known. Give the call_id of an answer that was pending.`, true)
        )
      : answerIn(found, id, patienceMs)
  }

  private begin(call: OfferedCall, { isKept, run }: Begun) {
    return Effect.gen(this, function* () {
      const what = `${call.server} ${call.tool} ${canonicalJson(call.input)}`
      const id = `${call.call_id} ${what}`
      const isLeft = (known: KnownCall) =>
        known.isKept && known.what === what && known.waiting === 0 && !known.isDelivered
      const found = this.known.get(id) ?? [...this.byId.values()].find(isLeft)
      if (found !== undefined) {
        found.waiting += 1
        return found
      }
      if (this.open >= this.limits.openToolCalls || this.count >= this.limits.toolCallsPerTurn) return undefined
      this.open += 1
      this.count += 1
      const ended = Effect.sync(() => {
        this.open -= 1
        // A client that connects anew counts its requests anew, so the number of a request tells calls apart only while they run.
        if (call.call_id.startsWith("request-")) this.known.delete(id)
      })
      const fiber = yield* Effect.forkIn(Effect.interruptible(Effect.ensuring(run, ended)), this.scope)
      const made: KnownCall = { fiber, what, isKept, waiting: 1, isDelivered: false }
      this.known.set(id, made)
      this.byId.set(call.call_id, made)
      return made
    })
  }
}

const answerIn = (known: KnownCall, callId: string, patienceMs: number): Effect.Effect<ToolAnswer> => {
  const delivered = Effect.sync(() => {
    known.isDelivered = true
  })
  const answer = Effect.zipLeft(Effect.flatten(Fiber.await(known.fiber)), delivered)
  if (patienceMs === Infinity) return answer
  return Effect.map(
    Effect.timeoutOption(Effect.interruptible(answer), patienceMs),
    Option.getOrElse(() => said(JSON.stringify({ state: "pending", call_id: callId, next: "Call await_call." }), false))
  )
}

const said = (text: string, is_error: boolean): ToolAnswer => ({ is_error, text })

const brokenTool = "The tool has failed inside of the service. Go on without it, or try it again later."
const nobodysTurn = "Nobody is known who has sent the message of this turn. Go on without this tool."
const noRight =
  "The sender of the message of this turn may not act here any more: the API key has ended, or the account or its membership has. Go on without this tool."
