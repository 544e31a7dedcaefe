import { Context, Effect, Layer } from "effect"
import type { Actor } from "../domain/Event.js"
import type { Commit } from "../store/Commit.js"
import type { SessionRow } from "./SessionRow.js"
import type { Turn } from "./Turn.js"

/** A room that has to know of sessions in the very commit that changes them. It may write, and must not fail. */
export interface SessionListener {
  /** A turn has moved. The commit holds its session. */
  readonly turnMoved: (turn: Turn, actor: Actor) => Effect.Effect<void, never, Commit>
  /** A session was made that waits for its first turn, and its creator did not ask for it to be left alone until then. */
  readonly begun: (session: SessionRow) => Effect.Effect<void, never, Commit>
  /** A session is about to be closed. The commit holds it. */
  readonly closing: (session: SessionRow, actor: Actor) => Effect.Effect<void, never, Commit>
  /** True while work of the session is on its way to its repository. The commit holds the session. */
  readonly isDelivering: (session: SessionRow) => Effect.Effect<boolean, never, Commit>
}

/** The rooms above that listen to sessions. They register here, so that sessions need not know them. */
export class SessionListeners extends Context.Tag("@reins/core/sessions/SessionListeners")<
  SessionListeners,
  SessionListener & {
    /** Adds a listener, which hears of what it names, for as long as the service lives. */
    readonly register: (listener: Partial<SessionListener>) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.sync(SessionListeners, () => {
    const listeners: Array<Partial<SessionListener>> = []
    const tell = Effect.fnUntraced(function* (
      notice: (listener: Partial<SessionListener>) => Effect.Effect<void, never, Commit> | undefined
    ) {
      for (const listener of listeners) yield* notice(listener) ?? Effect.void
    })
    return SessionListeners.of({
      register: (listener) => Effect.sync(() => void listeners.push(listener)),
      turnMoved: (turn, actor) => tell((listener) => listener.turnMoved?.(turn, actor)),
      begun: (session) => tell((listener) => listener.begun?.(session)),
      closing: (session, actor) => tell((listener) => listener.closing?.(session, actor)),
      isDelivering: (session) =>
        Effect.exists(listeners, (listener) => listener.isDelivering?.(session) ?? Effect.succeed(false))
    })
  })
}
