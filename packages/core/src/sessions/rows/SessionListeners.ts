import { type Hearers, makeHearers } from "@reins/base/base/Hearers"
import type { Actor } from "@reins/base/domain/Event"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../../store/Commit.js"
import type { SessionRow } from "./SessionRow.js"
import type { Turn, TurnState } from "./Turn.js"

/** A room that has to know of sessions in the very commit that changes them. It may write, and must not fail. */
export interface SessionListener {
  /** A turn has moved from a state. The commit holds its session. */
  readonly turnMoved: (turn: Turn, actor: Actor, from: TurnState) => Effect.Effect<void, never, Commit>
  /** A session was made that waits for its first turn, and its creator did not ask for it to be left alone until then. */
  readonly begun: (session: SessionRow) => Effect.Effect<void, never, Commit>
  /** A session is about to be closed. The commit holds it. */
  readonly closing: (session: SessionRow, actor: Actor) => Effect.Effect<void, never, Commit>
  /** True while work of the session is on its way to its repository. The commit holds the session. */
  readonly isDelivering: (session: SessionRow) => Effect.Effect<boolean, never, Commit>
  /** True when the work of each turn of the session has to be sealed, also where the session says otherwise. */
  readonly wantsCapture: (session: SessionRow) => Effect.Effect<boolean>
}

/** The rooms above that listen to sessions. They register here, so that sessions need not know them. */
export class SessionListeners extends Context.Tag("@reins/core/sessions/SessionListeners")<
  SessionListeners,
  SessionListener & Pick<Hearers<Partial<SessionListener>>, "register">
>() {
  static readonly layer = Layer.sync(SessionListeners, () => {
    const { ask, register, tell } = makeHearers<Partial<SessionListener>>()
    return SessionListeners.of({
      register,
      turnMoved: (turn, actor, from) => tell((listener) => listener.turnMoved?.(turn, actor, from)),
      begun: (session) => tell((listener) => listener.begun?.(session)),
      closing: (session, actor) => tell((listener) => listener.closing?.(session, actor)),
      wantsCapture: (session) =>
        Effect.map(
          ask(({ wantsCapture }) => wantsCapture && Effect.map(wantsCapture(session), (does) => does || undefined)),
          (found) => found ?? false
        ),
      isDelivering: (session) =>
        Effect.map(
          ask(({ isDelivering }) => isDelivering && Effect.map(isDelivering(session), (is) => is || undefined)),
          (found) => found ?? false
        )
    })
  })
}
