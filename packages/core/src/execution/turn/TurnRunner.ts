import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Either, Scope } from "effect"
import { type AttemptLost, type Completion, JobError, type JobWork } from "../../jobs/JobKind.js"
import { sessionBudgets } from "../../sessions/usage/SessionBudgets.js"
import { AgentStateStore } from "../../worktrees/AgentStateStore.js"
import { Snapshots } from "../../worktrees/snapshots/Snapshots.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import { runAgent } from "../run/AgentRun.js"
import { type BegunTurn, beginTurn } from "../setup/BeginTurn.js"
import { TurnRefused } from "../setup/TurnRefused.js"
import { TurnSetup } from "../setup/TurnSetup.js"
import type { TurnWork } from "../setup/TurnWork.js"
import { endTurn } from "./EndTurn.js"
import { failedTurn } from "./FailedTurn.js"
import { finishTurn } from "./FinishTurn.js"
import { interruptTurn, lostTurn } from "./LostTurn.js"

/**
 * Runs a turn: it begins the turn, prepares it, has the agent work, and finishes the turn with the end that can be proven. A turn can be
 * attempted again while its agent was not asked. Once its agent was asked, it is never run twice.
 */
export const turnWork = Effect.gen(function* () {
  const trees = yield* WorkingTrees
  const begin = yield* beginTurn
  const work = yield* makeWork
  return {
    run: fn("turnJob.run")(function* (attempt) {
      const begun = yield* begin(attempt)
      if (begun === undefined) return { state: "cancelled" as const, command: Effect.void }
      yield* failpoint("turn.begun")
      return yield* trees.exclusive(begun.session.id, work(begun))
    }),
    failed: yield* failedTurn,
    lost: yield* lostTurn
  } satisfies JobWork
})

/** The work on a turn that has begun. */
const makeWork = Effect.gen(function* () {
  const { agents } = yield* Bench
  const setup = yield* TurnSetup
  const end = yield* endTurn
  const refuse = yield* makeRefuse
  const giveUp = yield* makeGiveUp
  const run = yield* runAgent
  const finish = yield* finishTurn
  const { requireHolding } = yield* sessionBudgets
  const snapshots = yield* Snapshots

  const prepare = Effect.fnUntraced(function* ({ session, turn }: TurnWork) {
    // What the last turn has left is safe before another one changes it.
    yield* snapshots.sealBefore(session.id)
    const scope = yield* Effect.scope
    const prepared = yield* setup.prepare(session, ({ ear, order }) => Scope.extend(agents.reserve(order, ear), scope))
    const { prices } = prepared
    const { connection } = prepared.order
    yield* requireHolding(session, turn.id, connection && { prices, secrets: connection.secrets }).pipe(
      Effect.mapError(({ code, message }) => new TurnRefused({ reason: code, message, retryable: false }))
    )
    return prepared
  })

  return Effect.fnUntraced(function* (
    work: BegunTurn
  ): Effect.fn.Return<Completion, AttemptLost | JobError, Scope.Scope> {
    if (work.turn.state !== "preparing") return yield* giveUp(work)
    const right = yield* work.right
    const cancelled = Effect.as(work.attempt.cancelRequested, "cancelled" as const)
    const prepared = yield* Effect.either(Effect.raceFirst(prepare(work), cancelled))
    if (Either.isLeft(prepared)) return yield* refuse(work, prepared.left)
    if (prepared.right === "cancelled")
      return { state: "cancelled", command: end(work.turn, "failed", { reason: "user_cancelled" }) }
    yield* failpoint("turn.prepared")
    const ran = yield* run(work, prepared.right, right.lost)
    // An agent that is cut off may end before its turn is told to stop.
    yield* right.told
    return yield* finish(work, ran)
    // An agent that was started for the turn and that the turn did not take ends with it.
  }, Effect.scoped)
})

/** The end of a turn that cannot be started. The job tries again after a temporary refusal. */
const makeRefuse = Effect.gen(function* () {
  const states = yield* AgentStateStore
  const end = yield* endTurn

  return ({ session, turn }: TurnWork, refusal: TurnRefused): Effect.Effect<Completion, JobError> => {
    const { message, reason, retryable } = refusal
    const failure = { code: reason, message, retryable }
    if (retryable) return Effect.fail(new JobError(failure))
    const command = Effect.gen(function* () {
      if (reason === "context_unavailable") yield* states.change(session.id, { context_lost: 1 })
      yield* end(turn, "failed", { reason, reasonMessage: message })
    })
    return Effect.succeed({ state: "failed", failure, command })
  }
})

/** The end of a turn whose agent was started by an earlier attempt that did not see its end. The agent's work must not be repeated. */
const makeGiveUp = Effect.map(interruptTurn, (interrupt) =>
  Effect.fnUntraced(function* ({ session, turn }: TurnWork): Effect.fn.Return<Completion> {
    const command = yield* interrupt(session, turn, {
      reason: unknownOutcome.code,
      reasonMessage: unknownOutcome.message
    })
    return turn.state === "cancelling"
      ? { state: "cancelled", command }
      : { state: "failed", failure: unknownOutcome, command }
  })
)

const unknownOutcome = {
  code: "outcome_unknown",
  message:
    "An earlier attempt started the agent and its end was not seen. Look at the changes, then acknowledge or retry the turn.",
  retryable: false
} as const
