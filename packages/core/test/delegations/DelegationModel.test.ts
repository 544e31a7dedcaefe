import { assert, describe, it } from "@effect/vitest"
import type { DelegationState } from "@reins/core/delegations/Delegation"
import { delegationEndings } from "@reins/core/delegations/DelegationEndings"
import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Effect, Runtime } from "effect"
import * as fc from "fast-check"
import { begin, codeOf, delegationEvents, end } from "./Children.js"

/** The state that a delegation must have after the moves of its child. */
interface Model {
  state: DelegationState
  queued: number
  turn: "none" | "running" | "cancelling"
  /** An interrupted turn lets nothing else begin. */
  held: boolean
  closed: boolean
  result: string | undefined
}

const isOver = ({ state }: Model) => state === "succeeded" || state === "failed" || state === "cancelled"

const moveNames = [
  "begin",
  "say",
  "succeed silently",
  "fail",
  "interrupt",
  "cancel turn",
  "send",
  "submit one",
  "submit two",
  "cancel",
  "expire",
  "close child"
] as const
type Move = (typeof moveNames)[number]

/** The end of a turn as the model makes it. It moves the delegation only when no other turn waits. */
const endTurn = (model: Model, to: "say" | "succeed silently" | "fail" | "interrupt" | "cancel turn") => {
  if (to === "interrupt") model.held = true
  model.turn = "none"
  if (isOver(model) || (model.queued > 0 && to !== "interrupt")) return
  if (to === "say") {
    model.state = "succeeded"
    model.result = "said"
  } else if (to === "succeed silently") model.state = "waiting_result"
  else if (model.state !== "waiting_result") model.state = to === "cancel turn" ? "cancelled" : "failed"
}

/** A move as the model makes it. Gives `ok`, the code with which the move must be refused, or `skip` when it cannot be tried. */
const expect = (model: Model, move: Move): string | "ok" | "skip" => {
  switch (move) {
    case "begin":
      if (model.queued === 0 || model.turn !== "none" || model.held) return "skip"
      model.queued--
      model.turn = "running"
      if (model.state === "pending") model.state = "active"
      return "ok"
    case "say":
    case "succeed silently":
    case "fail":
    case "cancel turn":
    case "interrupt":
      if (model.turn === "none") return "skip"
      if (model.turn === "cancelling" && move !== "cancel turn" && move !== "interrupt") return "skip"
      endTurn(model, move)
      return "ok"
    case "send":
      if (isOver(model)) return "invalid_transition"
      if (model.queued === 20) return "quota_exhausted"
      model.queued++
      return "ok"
    case "submit one":
    case "submit two":
      if (model.result !== undefined) return model.result === move ? "ok" : "result_already_set"
      if (model.state !== "active" && model.state !== "waiting_result") return "invalid_transition"
      model.state = "succeeded"
      model.result = move
      return "ok"
    case "cancel":
    case "close child":
      if (move === "cancel" ? isOver(model) : model.closed) return "invalid_transition"
      if (!isOver(model)) model.state = "cancelled"
      model.closed = true
      stopTurns(model)
      return "ok"
    case "expire":
      if (isOver(model)) return "ok"
      model.state = "failed"
      stopTurns(model)
      return "ok"
  }
}

const stopTurns = (model: Model) => {
  model.queued = 0
  if (model.turn === "running") model.turn = "cancelling"
}

for (const { layer, name } of databases) {
  describe(`a delegation on ${name}`, () => {
    it.scopedLive("is what the model says after any sequence of moves, and never leaves an end", () =>
      Effect.gen(function* () {
        const runtime = yield* Effect.runtime<Delegations | DelegationResults | Sessions | Journal | Needed>()
        const { principal, workspaceId } = yield* ownerWithConnection
        const delegations = yield* Delegations
        const endings = yield* delegationEndings
        const results = yield* DelegationResults
        const sessions = yield* Sessions
        const journal = yield* Journal

        const walk = (moves: ReadonlyArray<Move>) =>
          Effect.gen(function* () {
            const parent = yield* sessions.create(principal, workspaceId, {})
            const { delegation } = yield* delegations.spawn(principal, parent.id, { role: "r", instructions: "Go." })
            const { child_session_id: child, id } = delegation
            const model: Model = {
              state: "pending",
              queued: 1,
              turn: "none",
              held: false,
              closed: false,
              result: undefined
            }
            const make: Record<Move, Effect.Effect<unknown, unknown, Needed>> = {
              begin: begin(principal, child),
              say: end(principal, child, "succeeded", "said"),
              "succeed silently": end(principal, child, "succeeded"),
              fail: end(principal, child, "failed"),
              interrupt: end(principal, child, "interrupted"),
              "cancel turn": end(principal, child, "cancelled"),
              send: delegations.send(principal, id, { content: "More." }),
              "submit one": results.submit(principal, id, { kind: "generic", summary: "submit one" }),
              "submit two": results.submit(principal, id, { kind: "generic", summary: "submit two" }),
              cancel: delegations.cancel(principal, id),
              expire: journal.commit(endings.expire(id)),
              "close child": sessions.close(principal, child)
            }
            for (const move of moves) {
              const expected = expect(model, move)
              if (expected === "skip") continue
              if (expected === "ok") yield* make[move]
              else assert.strictEqual(yield* codeOf(make[move]), expected, move)
              const now = yield* delegations.get(principal, id)
              assert.strictEqual(now.state, model.state, `after ${move} of ${moves.join(", ")}`)
              const result = yield* Effect.option(results.get(principal, id))
              assert.strictEqual(
                result._tag === "Some" ? result.value.summary : undefined,
                model.result,
                `after ${move} of ${moves.join(", ")}`
              )
            }
            const events = (yield* delegationEvents(principal, parent.id)).map(({ type }) => type)
            const ends = events.filter((type) => /\.(?:succeeded|failed|cancelled)$/.test(type))
            assert.deepStrictEqual(ends, isOver(model) ? [`delegation.${model.state}`] : [])
            assert.isAtMost(events.filter((type) => type === "delegation.result_published").length, 1)
            yield* Effect.ignore(sessions.close(principal, parent.id))
          })

        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(fc.constantFrom(...moveNames), { minLength: 1, maxLength: 14 }), (moves) =>
              Runtime.runPromise(runtime)(walk(moves))
            ),
            { numRuns: walks.delegations[name] }
          )
        )
      }).pipe(Effect.provide(services(layer)))
    )
  })
}

type Needed = Effect.Effect.Context<
  ReturnType<typeof begin> | ReturnType<typeof end> | ReturnType<typeof delegationEvents>
>
