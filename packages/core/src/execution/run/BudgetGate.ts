import type { CallLeave, CallRefusal, ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { Cause, Deferred, Effect, FiberId, FiberSet, type Scope } from "effect"
import { systemActor } from "../../access/Access.js"
import { type Budget, budgetWords } from "../../budgets/Budget.js"
import { BudgetStore } from "../../budgets/BudgetStore.js"
import { InteractionStore } from "../../sessions/questions/InteractionStore.js"
import type { Question } from "../../sessions/questions/OpenInteraction.js"
import { chargeOf, estimateOf } from "../../sessions/usage/Charges.js"
import { sessionBudgets } from "../../sessions/usage/SessionBudgets.js"
import { Bell, budgetTopic, sessionTopic } from "../../store/Bell.js"
import { logDefect } from "../../store/FailedStatement.js"
import { lookUntil } from "../../store/LookUntil.js"
import type { PreparedAgent } from "../setup/TurnSetup.js"
import type { TurnProblem, TurnWork } from "../setup/TurnWork.js"

/** Holds the model calls of one turn while a budget that they count for is used up. */
export interface BudgetGate {
  /** As `CallObserver.admit`. */
  readonly admit: (requestBytes: number | null) => Promise<CallLeave | CallRefusal>
  /** As `CallObserver.withdrawn`. */
  readonly withdrawn: (leave: CallLeave) => void
  /** Charges a call that has ended. No call is let out before that is done. */
  readonly ended: (call: ModelCall) => void
  /** Completes when the turn is to be ended, because nobody has raised the budget. */
  readonly gaveUp: Effect.Effect<void>
  /** The reason for which the turn has failed; undefined unless it was ended by a budget, or its agent has not waited any longer. */
  readonly problem: () => TurnProblem | undefined
}

/** A budget that is used up. */
interface UsedUp {
  readonly subjectId: string
  readonly budget: Budget
}

/** Makes the gate of a turn. It holds calls until the scope closes. */
export const budgetGate = Effect.gen(function* () {
  const store = yield* BudgetStore
  const { ofTurn } = yield* sessionBudgets
  const pausing = yield* pauses

  return Effect.fnUntraced(function* (
    work: TurnWork,
    { prices }: Pick<PreparedAgent, "prices">
  ): Effect.fn.Return<BudgetGate, never, Scope.Scope> {
    const { message, session, turn } = work
    const subjects = yield* ofTurn(session, turn.id)
    const isOwn = message.author.kind === "system"
    const run = yield* FiberSet.makeRuntimePromise<never>()
    const gaveUp = yield* Deferred.make<void>()
    let problem: TurnProblem | undefined
    /** The pause that all held calls wait for, with its end. */
    let pause: { readonly usedUp: UsedUp; readonly ended: Deferred.Deferred<void> } | undefined

    const giveUp = (why: TurnProblem) =>
      Effect.suspend(() => {
        problem ??= why
        return Deferred.succeed(gaveUp, undefined)
      })

    const wait = Effect.fnUntraced(function* (usedUp: UsedUp) {
      if (pause !== undefined) return yield* Deferred.await(pause.ended)
      const own = { usedUp, ended: Deferred.unsafeMake<void>(FiberId.none) }
      pause = own
      const over = Effect.suspend(() => {
        pause = undefined
        return Deferred.succeed(own.ended, undefined)
      })
      const isRaised = yield* Effect.tapDefect(pausing(work, subjects, usedUp), () => over)
      if (!isRaised) yield* giveUp(exhausted(usedUp))
      yield* over
    })

    const admitted = Effect.fnUntraced(function* (requestBytes: number | null) {
      const wanted = { turnId: turn.id, subjects, estimate: estimateOf(requestBytes, turn.settings.model, prices) }
      while (problem === undefined) {
        const answer = yield* store.admit(wanted)
        if (answer._tag === "admitted") return { admission: answer.id }
        // The service itself asks nobody to raise what it gave a turn of its own, as that of care.
        if (answer._tag === "exhausted" && isOwn && answer.subjectId === turn.id) yield* giveUp(exhausted(answer))
        else if (answer._tag === "exhausted") yield* wait(answer)
        else yield* giveUp(unpriced(answer))
      }
      // A status of 400 tells the agent not to try again.
      return { status: 400, type: "budget_exhausted", message: problem.message }
    })

    /** The end of the turn waits for it. What cannot be written counts by its estimate when the turn has ended. */
    const write = (written: Effect.Effect<void>): void => {
      const logged = Effect.catchAllCause(written, (cause) =>
        logDefect("a model call cannot be charged to its budgets", Cause.squash(cause))
      )
      run(Effect.uninterruptible(logged)).catch(() => undefined)
    }

    return {
      admit: (requestBytes) => run(Effect.catchAllCause(admitted(requestBytes), unreadable)).catch(() => turnEnded),
      withdrawn: ({ admission }) => {
        if (admission !== undefined) write(store.withdraw(admission))
      },
      ended: (call) => {
        const charge = chargeOf(call, turn.settings.model, prices)
        if (call.admission !== undefined) write(store.settle({ admission: call.admission, subjects, charge }))
      },
      gaveUp: Deferred.await(gaveUp),
      problem: () => problem ?? (pause === undefined ? undefined : left(pause.usedUp))
    }
  })
})

/**
 * Asks people to raise a budget, and waits until no budget of the turn is used up. Gives false when somebody says that the turn is to end, or
 * nobody has raised it in time.
 */
const pauses = Effect.gen(function* () {
  const bell = yield* Bell
  const store = yield* BudgetStore
  const interactions = yield* InteractionStore

  return Effect.fnUntraced(
    function* ({ attempt, session, turn }: TurnWork, subjects: ReadonlyArray<string>, usedUp: UsedUp) {
      // The session rings when the turn has started, before which nobody can be asked.
      const topics = [...subjects.map(budgetTopic), sessionTopic(session.id)]
      const isFree = Effect.map(store.findAll(subjects), (budgets) => {
        const isUsedUp = [...budgets.values()].some(({ exhausted }) => exhausted)
        return isUsedUp ? undefined : ("raised" as const)
      })
      const opened = yield* lookUntil(bell, {
        topics,
        look: Effect.gen(function* () {
          if ((yield* isFree) !== undefined) return "raised" as const
          return yield* attempt.commit(interactions.open(turn.id, actor, askedOf(usedUp)))
        })
      })
      if (opened === "raised") return true
      const settled = interactions.settled(opened.id, (command) => attempt.commit(command))
      const first = yield* Effect.raceFirst(lookUntil(bell, { topics, look: isFree }), settled)
      if (first === "raised") {
        yield* attempt.commit(interactions.takeBack(opened.id, actor))
        return true
      }
      // It is cancelled with its turn, which ends the pause by itself.
      return first.state === "cancelled" ? yield* Effect.never : false
    },
    // The step that ends a lost attempt ends the turn too.
    Effect.catchTag("AttemptLost", () => Effect.never)
  )
})

const actor = systemActor("budgets")

const askedOf = (usedUp: UsedUp): Question => ({
  kind: "budget",
  title: `The ${subjectOf(usedUp)} is used up`,
  description:
    `${spentOf(usedUp)} The next model call of the turn waits, and goes out when the budget is raised with ${raiseOf(usedUp)}. ` +
    "The answer `stop` ends the turn, as does the time.",
  tool_id: null,
  budget_of: usedUp.subjectId,
  options: [{ id: "stop", name: "End the turn", kind: "reject_once" }],
  form: null,
  url: null,
  default: "stop"
})

const exhausted = (usedUp: UsedUp): TurnProblem => ({
  reason: "budget_exhausted",
  message: `The ${subjectOf(usedUp)} is used up, and it was not raised. ${spentOf(usedUp)} ${goOn(usedUp)}`
})

const left = (usedUp: UsedUp): TurnProblem => ({
  reason: "budget_exhausted",
  message: `The ${subjectOf(usedUp)} is used up, and the agent did not wait until it was raised. ${spentOf(usedUp)} ${goOn(usedUp)}`
})

const unpriced = (usedUp: UsedUp): TurnProblem => ({
  reason: "budget_unenforceable",
  message:
    `The ${subjectOf(usedUp)} is one in US dollars, and the connection has no price for the model, so no call can be counted. ` +
    "Give the connection prices with PATCH /api/connections/{connection_id}, or set the budget in tokens. Then retry the turn."
})

const goOn = (usedUp: UsedUp): string =>
  `Raise it with ${raiseOf(usedUp)}, then retry the turn: the agent knows what was said so far.`

const spentOf = ({ budget }: UsedUp): string => `${budgetWords(budget)} are spent.`

const subjectOf = ({ subjectId }: UsedUp): string => `budget of the ${nameOf(subjectId)} ${subjectId}`

const raiseOf = ({ subjectId }: UsedUp): string => `PATCH /api/${pathOf(subjectId)}/${subjectId}`

/** The resources that can have a budget, by the prefixes of their ids, with their names and paths. */
const resources = {
  turn: ["turn", "turns"],
  sess: ["session", "sessions"],
  key: ["API key", "api-keys"],
  wsp: ["workspace", "workspaces"]
} as const

const resourceOf = (subjectId: string): readonly [string, string] =>
  Object.entries(resources).find(([prefix]) => subjectId.startsWith(`${prefix}_`))?.[1] ?? resources.wsp

const nameOf = (subjectId: string): string => resourceOf(subjectId)[0]

const pathOf = (subjectId: string): string => resourceOf(subjectId)[1]

/** A call whose budget cannot be read does not go out. The agent may try again. */
const unreadable = (cause: Cause.Cause<never>): Effect.Effect<CallRefusal> =>
  Effect.as(logDefect("the budgets of a turn cannot be read", Cause.squash(cause)), {
    status: 503,
    type: "budget_unreadable",
    message: "The budgets of the turn cannot be read at the moment. Try again."
  })

const turnEnded: CallRefusal = { status: 401, type: "authentication_error", message: "The turn has ended." }
