import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Either, Layer, Option } from "effect"
import { answerPlace } from "./AnswerPlace.js"
import * as AnswerStore from "./AnswerStore.js"
import type { Command } from "./Command.js"
import { failedStatementOf } from "./FailedStatement.js"

/** A mutation, with the key that tells it from others. */
export interface MutationRequest<A, E = never> extends AnswerStore.AnswerKey {
  /** It may fail with any code, because every mutation of the API comes through here. Errors besides `ReinsError` are never stored. */
  readonly command: Command<A, ReinsError | E>
  readonly encode: (result: A) => AnswerStore.StoredAnswer
  /** Null where each refusal is decided anew: none is stored, and the caller gets the error. */
  readonly encodeError: ((error: ReinsError) => AnswerStore.StoredAnswer) | null
}

/** The answer to a mutation. A replayed one was given before. */
export interface MutationAnswer {
  readonly answer: AnswerStore.StoredAnswer
  readonly replayed: boolean
}

/** The refusals of a mutation because of its key. */
export type KeyRefusal = ReinsError<"idempotency_conflict" | "idempotency_in_progress">

/** Makes a mutation happen once: the same key and request give the same answer again, byte for byte. */
export class Idempotency extends Context.Tag("@reins/core/store/Idempotency")<
  Idempotency,
  {
    /**
     * Runs the command unless its answer is stored. The answer commits with the command, so a crash leaves both or neither. Expected errors
     * are stored too, but for 401, 403, 422, 429, 5xx and those that a retry may overcome. Fails with `idempotency_conflict` when the key
     * was used for another request, and with `idempotency_in_progress` while the first call runs.
     */
    readonly run: <A, E = never>(request: MutationRequest<A, E>) => Effect.Effect<MutationAnswer, ReinsError | E>
    /** Deletes the answers that can no longer be replayed. It is a commit of its own. */
    readonly purge: Effect.Effect<void>
    /**
     * Seals the stored answers with the current key of the ring, and gives back how many had another. Each answer is a commit of its own.
     */
    readonly rewrap: Effect.Effect<number>
    /** The number of answers that can still be replayed and need the key. */
    readonly countKeyedBy: (keyId: string) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function* () {
      const answers = yield* AnswerStore.make
      const running = new Set<string>()
      return Idempotency.of({
        run: fn("Idempotency.run")(function* <A, E>(mutation: MutationRequest<A, E>) {
          const found = yield* answers.find(mutation)
          if (found.answer !== undefined) return replayOf(found.answer)
          const request = { ...mutation, place: found.place }
          const answered = Effect.catchSomeDefect(execute(answers, request), (defect) =>
            isDuplicate(defect) ? Option.some(replayOr(answers, request, defect)) : Option.none()
          )
          return yield* alone(running, answerPlace(mutation), answered)
        }),
        purge: answers.purge,
        rewrap: answers.rewrap,
        countKeyedBy: answers.countKeyedBy
      })
    })
  )
}

const replayOf = (answer: AnswerStore.StoredAnswer): MutationAnswer => ({ answer, replayed: true })

/** Runs the command of a request. Its answer commits with it, and an expected error is stored after it. */
const execute = Effect.fnUntraced(function* <A, E>(
  answers: AnswerStore.AnswerStore,
  request: AnswerStore.Placed<MutationRequest<A, E>>
) {
  yield* failpoint("request.begun")
  let answer: AnswerStore.StoredAnswer | undefined
  const record = (result: A) =>
    Effect.suspend(() => {
      answer = request.encode(result)
      return answers.insert(request, answer)
    })
  const outcome = yield* Effect.either(request.command.answered(record))
  if (Either.isLeft(outcome)) {
    const error = outcome.left
    if (request.encodeError === null || !(error instanceof ReinsError) || !isStored(error))
      return yield* Effect.fail(error)
    answer = request.encodeError(error)
    yield* answers.insert(request, answer)
  }
  if (answer === undefined) return yield* Effect.dieMessage("a command ended without its commit")
  yield* failpoint("request.committed")
  return { answer, replayed: false }
})

/** Fails while an effect of the same place runs in this process. */
const alone = <A, E>(running: Set<string>, place: string, effect: Effect.Effect<A, E>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend((): Effect.Effect<A, E | KeyRefusal> => {
      if (running.has(place)) return inProgress
      running.add(place)
      return Effect.flatMap(Effect.exit(restore(effect)), (exit) => {
        running.delete(place)
        return exit
      })
    })
  )

/** The answer that another process has stored meanwhile. Without one the defect has another reason. */
const replayOr = (answers: AnswerStore.AnswerStore, request: AnswerStore.Placed, defect: unknown) =>
  Effect.flatMap(answers.find(request), ({ answer }) =>
    answer === undefined ? Effect.die(defect) : Effect.succeed(replayOf(answer))
  )

/** True for the defect of a second row with the same key. */
const isDuplicate = (defect: unknown): boolean =>
  ["23505", "SQLITE_CONSTRAINT_PRIMARYKEY"].includes(failedStatementOf(defect)?.code ?? "")

/** An error that a repeated call may not meet again is not stored: it would turn a passing failure into a lasting one. */
const isStored = (error: ReinsError): boolean =>
  !error.retryable && error.status < 500 && ![401, 403, 422, 429].includes(error.status)

const inProgress = new ReinsError({
  code: "idempotency_in_progress",
  message: "The first request with this Idempotency-Key is still running. Send it again in a moment.",
  retryAfterSeconds: 1
})
