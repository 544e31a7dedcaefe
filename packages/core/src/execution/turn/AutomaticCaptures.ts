import type { NewEvent } from "@reins/base/domain/Event"
import { ChangesetId, newId } from "@reins/base/domain/Ids"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect, Either } from "effect"
import { type CapturedTree, treeCapture } from "../../changes/Capture.js"
import { ChangesetStore } from "../../changes/ChangesetStore.js"
import { SessionListeners } from "../../sessions/rows/SessionListeners.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { Turn } from "../../sessions/rows/Turn.js"
import { Journal } from "../../store/Journal.js"
import { system, type TurnWork } from "../setup/TurnWork.js"
import { betweenTurns } from "./BetweenTurns.js"

/** A capture that was taken, or that failed, under the id that its changeset will have. */
interface Capture {
  readonly id: ChangesetId
  readonly taken: Either.Either<CapturedTree, GitError>
  /** Tells of what was written between the turns. */
  readonly between: ReadonlyArray<NewEvent>
}

/** The captures of succeeded turns. They are taken before the commit that ends the turn, and sealed inside of it. */
export const automaticCaptures = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const journal = yield* Journal
  const takeCapture = yield* treeCapture
  const sessions = yield* SessionStore
  const listeners = yield* SessionListeners
  const eventsBetween = yield* betweenTurns

  return {
    take: Effect.fnUntraced(function* (session: SessionRow, turn: Turn) {
      const current = yield* sessions.find(session.id)
      if (current === undefined) return undefined
      if (current.auto_capture === 0 && !(yield* listeners.wantsCapture(current))) return undefined
      const id = yield* newId(ChangesetId)
      const taken = yield* Effect.either(takeCapture(current, id))
      const between = Either.isRight(taken) ? yield* eventsBetween(current, turn, taken.right) : []
      const capture: Capture = { id, taken, between }
      return capture
    }),
    seal: Effect.fnUntraced(function* ({ session, turn }: TurnWork, { between, id, taken }: Capture) {
      yield* journal.append(session.id, system, between)
      yield* changesets.open(id, session.id, system, { origin: "automatic", label: null, turnId: turn.id })
      yield* Either.match(taken, {
        onLeft: (error) => changesets.fail(id, error.message, system),
        onRight: (captured) => changesets.seal(id, captured, system)
      })
    })
  }
})
