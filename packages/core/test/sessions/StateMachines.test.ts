import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import type { Event } from "@reins/base/domain/Event"
import { TurnId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { type ErrorCode, ReinsError } from "@reins/base/domain/ReinsError"
import { EventLog } from "@reins/core/events/EventLog"
import type { Claim } from "@reins/core/jobs/Claim"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { type SessionActivity, type SessionLifecycle, sessionStates } from "@reins/core/sessions/rows/Session"
import { Turn, TurnState, turnStates } from "@reins/core/sessions/rows/Turn"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { turnJobKind } from "@reins/core/sessions/turns/TurnQueue"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Cause, Effect, Exit, Option, Runtime, Schema } from "effect"
import * as fc from "fast-check"
import { question } from "../execution/Questions.js"

const runner = { kind: "system", id: "runner" } as const
const worker = { workerId: "test", bootId: "test" }

/** The next step. `pick` chooses one of the turns that there are. */
const command = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: "send" as const }) },
  { weight: 6, arbitrary: fc.constant({ kind: "claim" as const }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("move" as const),
      pick: fc.constantFrom("active" as const, 0, 1, 2, 3),
      to: fc.constantFrom(...TurnState.literals)
    })
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "acknowledge" as const, "retry" as const),
      pick: fc.nat(12)
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("archive" as const, "unarchive" as const, "update" as const) })
  },
  { weight: 1, arbitrary: fc.constant({ kind: "close" as const }) }
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

const cancelledWhileAsking: Array<Command> = [
  { kind: "send" },
  { kind: "claim" },
  { kind: "move", pick: "active", to: "running" },
  { kind: "move", pick: "active", to: "requires_action" },
  { kind: "cancel", pick: 0 }
]

interface ModelTurn {
  readonly id: string
  state: TurnState
  acknowledged: boolean
}

/** A session as it has to be. */
class Model {
  lifecycle: SessionLifecycle = "open"
  version = 1
  readonly turns: Array<ModelTurn> = []

  get active(): ModelTurn | undefined {
    return this.turns.find(({ state }) => state !== "queued" && !turnStates.isTerminal(state))
  }
  get queued(): ReadonlyArray<ModelTurn> {
    return this.turns.filter(({ state }) => state === "queued")
  }
  get held(): boolean {
    return this.turns.some(({ acknowledged, state }) => state === "interrupted" && !acknowledged)
  }
  get activity(): SessionActivity {
    if (this.held) return "attention"
    if (this.active !== undefined) return this.active.state === "requires_action" ? "requires_action" : "running"
    return this.queued.length > 0 ? "queued" : "idle"
  }
  /** The turn that a worker may take now. */
  get due(): ModelTurn | undefined {
    return this.active === undefined && !this.held ? this.queued[0] : undefined
  }
  /** The reason for which new work is refused, if it is. */
  get refusal(): ErrorCode | undefined {
    if (this.lifecycle !== "open") return "invalid_transition"
    return this.queued.length >= defaultLimits.queuedTurns ? "quota_exhausted" : undefined
  }
}

/** The end that a call has to have: with a code, or well. */
const expected = (exit: Exit.Exit<unknown, unknown>, code: ErrorCode | undefined, what: string) => {
  const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
  const got = Exit.isSuccess(exit) ? undefined : failure instanceof ReinsError ? failure.code : Cause.pretty(exit.cause)
  assert.strictEqual(got, code, what)
}

const play = Effect.fnUntraced(function* (
  principal: Principal,
  workspaceId: WorkspaceId,
  commands: ReadonlyArray<Command>
) {
  const sessions = yield* Sessions
  const messages = yield* Messages
  const turns = yield* Turns
  const turnStore = yield* TurnStore
  const interactions = yield* Interactions
  const interactionStore = yield* InteractionStore
  const jobs = yield* JobClaims
  const journal = yield* Journal
  const model = new Model()
  const { id } = yield* sessions.create(principal, workspaceId, {})
  const claims = new Map<string, Claim>()

  /** A claim ends with its turn, and is given back when the turn waits again. */
  const settle = (turn: ModelTurn) =>
    Effect.gen(function* () {
      const claim = claims.get(turn.id)
      if (claim === undefined || (turn.state !== "queued" && !turnStates.isTerminal(turn.state))) return
      claims.delete(turn.id)
      const error = { code: "waiting_capacity", message: "later", retryable: true }
      yield* journal.commit(
        jobs.finish(
          claim,
          turn.state === "queued"
            ? { state: "retry_wait", error, attempt: "failed", delayMs: 0 }
            : { state: "succeeded" }
        )
      )
    })

  /** A turn begins to wait with a question, and has waited once it is answered. */
  const moved = (turn: ModelTurn, to: TurnState): Effect.Effect<unknown, unknown> => {
    const turnId = TurnId.make(turn.id)
    if (turn.state === "running" && to === "requires_action")
      return journal.commit(interactionStore.open(turnId, runner, question))
    if (turn.state === "requires_action" && to === "running") {
      return Effect.flatMap(interactions.list(principal, id, { state: "pending" }), ({ items }) =>
        interactions.answer(principal, items[0]?.id ?? "", { answer: "yes" })
      )
    }
    return journal.commit(turnStore.move(turnId, to, runner))
  }

  const move = Effect.fnUntraced(function* (turn: ModelTurn, to: TurnState) {
    const exit = yield* Effect.exit(moved(turn, to))
    const isDrawn = turnStates.allows(turn.state, to)
    assert.strictEqual(Exit.isSuccess(exit), isDrawn, `${turn.state} -> ${to}`)
    if (isDrawn) turn.state = to
    yield* settle(turn)
  })

  const step = Effect.fnUntraced(function* (next: Command) {
    const what = JSON.stringify(next)
    switch (next.kind) {
      case "send": {
        const exit = yield* Effect.exit(messages.send(principal, id, { content: "Go on" }))
        expected(exit, model.refusal, what)
        if (Exit.isSuccess(exit))
          model.turns.push({ id: exit.value.turn_id ?? "", state: "queued", acknowledged: false })
        return
      }
      case "claim": {
        const found = yield* jobs.claim(turnJobKind, 1000, worker)
        const own = found.filter((claim) => model.turns.some((turn) => turn.id === claim.subject.id))
        const due = model.due
        assert.deepStrictEqual(
          own.map((claim) => claim.subject.id),
          due === undefined ? [] : [due.id],
          what
        )
        const [claim] = own
        if (claim === undefined || due === undefined) return
        claims.set(due.id, claim)
        return yield* move(due, "preparing")
      }
      case "move": {
        const turn = next.pick === "active" ? model.active : model.turns.at(-1 - next.pick)
        // A turn that waits is moved by the claim of a worker or by a cancellation, never for itself.
        if (turn === undefined || (turn.state === "queued" && turnStates.allows("queued", next.to))) return
        return yield* move(turn, next.to)
      }
      case "cancel": {
        const turn = model.turns[next.pick % Math.max(1, model.turns.length)]
        if (turn === undefined) return
        const exit = yield* Effect.exit(turns.cancel(principal, turn.id))
        expected(exit, turnStates.isTerminal(turn.state) ? "invalid_transition" : undefined, what)
        if (Exit.isFailure(exit)) return
        turn.state = turn.state === "queued" ? "cancelled" : "cancelling"
        assert.strictEqual(exit.value.state, turn.state)
        return
      }
      case "acknowledge": {
        const turn = model.turns[next.pick % Math.max(1, model.turns.length)]
        if (turn === undefined) return
        const exit = yield* Effect.exit(turns.acknowledge(principal, turn.id))
        expected(exit, turn.state === "interrupted" ? undefined : "invalid_transition", what)
        if (Exit.isSuccess(exit)) turn.acknowledged = true
        return
      }
      case "retry": {
        const turn = model.turns[next.pick % Math.max(1, model.turns.length)]
        if (turn === undefined) return
        const exit = yield* Effect.exit(turns.retry(principal, turn.id))
        expected(exit, turnStates.isTerminal(turn.state) ? model.refusal : "invalid_transition", what)
        if (Exit.isFailure(exit)) return
        turn.acknowledged = true
        assert.strictEqual(exit.value.retry_of_turn_id, turn.id)
        model.turns.push({ id: exit.value.id, state: "queued", acknowledged: false })
        return
      }
      case "archive": {
        const exit = yield* Effect.exit(sessions.archive(principal, id))
        const isBusy = model.active !== undefined || model.queued.length > 0
        expected(exit, model.lifecycle !== "open" ? "invalid_transition" : isBusy ? "turn_active" : undefined, what)
        if (Exit.isFailure(exit)) return
        model.lifecycle = "archived"
        model.version++
        return
      }
      case "unarchive": {
        const exit = yield* Effect.exit(sessions.unarchive(principal, id))
        expected(exit, model.lifecycle === "archived" ? undefined : "invalid_transition", what)
        if (Exit.isFailure(exit)) return
        model.lifecycle = "open"
        model.version++
        return
      }
      case "update": {
        const exit = yield* Effect.exit(sessions.update(principal, id, { title: "T", expected_version: model.version }))
        expected(exit, model.lifecycle === "closed" ? "invalid_transition" : undefined, what)
        if (Exit.isSuccess(exit)) model.version++
        const stale = yield* Effect.exit(
          sessions.update(principal, id, { title: "S", expected_version: model.version - 1 })
        )
        expected(stale, "version_conflict", what)
        return
      }
      case "close": {
        const exit = yield* Effect.exit(sessions.close(principal, id))
        expected(exit, model.lifecycle === "closed" ? "invalid_transition" : undefined, what)
        if (Exit.isFailure(exit)) return
        model.lifecycle = "closed"
        model.version++
        for (const turn of model.turns) {
          if (turn.state === "queued") turn.state = "cancelled"
          else if (!turnStates.isTerminal(turn.state)) turn.state = "cancelling"
        }
      }
    }
  })

  /** Holds the API against the model. */
  const compare = Effect.gen(function* () {
    const session = yield* sessions.get(principal, id)
    const pending = (yield* interactions.list(principal, id, { state: "pending" })).items.length
    assert.strictEqual(pending, model.active?.state === "requires_action" ? 1 : 0)
    assert.deepStrictEqual(
      [session.lifecycle, session.activity, session.active_turn_id, session.version],
      [model.lifecycle, model.activity, model.active?.id ?? null, model.version]
    )
    const { items } = yield* turns.list(principal, id, { limit: 200 })
    assert.deepStrictEqual(
      items.map((turn) => [turn.id, turn.state, turn.finished_at !== null]),
      model.turns.map((turn) => [turn.id, turn.state, turnStates.isTerminal(turn.state)])
    )
  })

  for (const next of commands) {
    yield* step(next)
    yield* compare
  }
  const { items } = yield* (yield* EventLog).page(principal, id, { after: 0, limit: 1000 })
  assertEvents(items, model)
})

const decodeTurn = Schema.decodeUnknownSync(Schema.Struct({ turn: Turn }))
const decodeLifecycle = Schema.decodeUnknownSync(Schema.Struct({ lifecycle: Schema.String, version: Schema.Int }))

/** The log tells the whole story: no gap, only drawn moves, and at its end what the state says. */
const assertEvents = (events: ReadonlyArray<Event>, model: Model) => {
  assert.deepStrictEqual(
    events.map((event) => event.seq),
    events.map((_, index) => index + 1)
  )
  const states = new Map<string, TurnState>()
  const acknowledged = new Set<string>()
  let lifecycle = "open"
  let version = 1
  for (const event of events) {
    if (event.type === "turn.acknowledged") acknowledged.add(decodeTurn(event.payload).turn.id)
    else if (event.type.startsWith("turn.")) {
      const { turn } = decodeTurn(event.payload)
      const before = states.get(turn.id)
      // A question that ends with the cancellation or the end of its turn is told of without a move.
      const isTold = event.type === "turn.action_resolved" && turn.state === before
      if (before === undefined) assert.strictEqual(turn.state, "queued")
      else assert.isTrue(isTold || turnStates.allows(before, turn.state), `${before} -> ${turn.state}`)
      states.set(turn.id, turn.state)
    } else if (event.type.startsWith("session.")) {
      const told = decodeLifecycle(event.payload)
      const from = sessionStates.states.find((state) => state === lifecycle)
      const to = sessionStates.states.find((state) => state === told.lifecycle)
      if (from !== undefined && to !== undefined && from !== to) assert.isTrue(sessionStates.allows(from, to))
      lifecycle = told.lifecycle
      version = told.version
    }
  }
  assert.deepStrictEqual([lifecycle, version], [model.lifecycle, model.version])
  assert.deepStrictEqual(
    [...states],
    model.turns.map((turn) => [turn.id, turn.state])
  )
  assert.sameMembers(
    [...acknowledged],
    model.turns.filter((turn) => turn.acknowledged && turn.state === "interrupted").map((turn) => turn.id)
  )
}

for (const { layer, name } of databases) {
  describe(`the states of sessions and turns on ${name}`, () => {
    it.scopedLive(
      "only drawn moves happen, all others are refused by name, and events and state always agree",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const runtime = yield* Effect.runtime<
            Sessions | Messages | Turns | TurnStore | Interactions | InteractionStore | JobClaims | Journal | EventLog
          >()
          const property = fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 60 }), (commands) =>
            Runtime.runPromise(runtime)(play(principal, workspaceId, commands))
          )
          yield* Effect.promise(() =>
            fc.assert(property, { numRuns: walks.sessions[name], examples: [[cancelledWhileAsking]] })
          )
        }).pipe(Effect.provide(services(layer))),
      120_000
    )
  })
}
