import { fn } from "@reins/base/base/Traced"
import { requireAll } from "@reins/base/domain/Condition"
import type { Page } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type CreateRefusal, creation } from "./CreateSession.js"
import { SessionLifecycles } from "./creation/SessionLifecycles.js"
import type { CreatedSession, SessionInput, SessionPatch } from "./creation/SessionsApi.js"
import { makeList } from "./ListSessions.js"
import type { Session } from "./rows/Session.js"
import type { SessionFilter } from "./rows/SessionFilters.js"
import type { SeenSession, SessionRow } from "./rows/SessionRow.js"
import { configuredRules, sessionRules } from "./rows/SessionRules.js"
import { SessionStore } from "./rows/SessionStore.js"
import { toSession } from "./SessionView.js"
import { makeUpdate, type UpdateRefusal } from "./UpdateSession.js"

/** A command that moves a session. */
type Move<Code extends "invalid_transition" | "turn_active"> = Command<Session, Denied | ReinsError<Code>>

/**
 * Sessions: a conversation and a workspace, run by an executor with one provider. A session that the principal may not see is `not_found`; one
 * that it may see and not change is `forbidden` to a command.
 */
export class Sessions extends Context.Tag("@reins/core/sessions/Sessions")<
  Sessions,
  {
    /** The sessions of a workspace that fit the filter, newest first. A workspace that the principal does not belong to is `not_found`. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      filter: SessionFilter
    ) => Effect.Effect<Page<Session>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Fails with `provider_disabled` or `connection_required` when no turn could run, with `budget_unenforceable` for a budget that would
     * not hold, and with `invalid_transition` for a project that is archived. A repository that this installation never contacts is `RequestInvalid`. A first message cannot have files yet, and fails with `model_required` where no model is chosen that its turn needs.
     */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: SessionInput
    ) => Command<CreatedSession, CreateRefusal>
    /** A session as it stands, with its usage and its watermark. */
    readonly get: (principal: Principal, sessionId: string) => Effect.Effect<Session, Unseen>
    /**
     * Changes what is given and leaves the rest. Fails with `harness_switch_required` for another provider, with `invalid_transition` for a
     * closed session, with `version_conflict` when the session has changed since the version that the caller expects, with
     * `unsupported_capability` for permissions that the provider cannot ask for (`provider_disabled` for one that is gone), and with
     * `budget_unenforceable` for a budget that would not hold. Another URL of the repository fails with `turn_active` while a turn runs, with
     * `delivery_unresolved` while a delivery does, with `invalid_transition` without a repository, and with `RequestInvalid` for a URL that
     * this installation never contacts.
     */
    readonly update: (principal: Principal, sessionId: string, patch: SessionPatch) => Command<Session, UpdateRefusal>
    /**
     * Puts an open session away: it stays readable and takes no work. Fails with `turn_active` while a turn waits or runs, and with
     * `invalid_transition` for a session that is not open.
     */
    readonly archive: (principal: Principal, sessionId: string) => Move<"invalid_transition" | "turn_active">
    /** Opens an archived session again. Fails with `invalid_transition` for one that is not archived. */
    readonly unarchive: (principal: Principal, sessionId: string) => Move<"invalid_transition">
    /**
     * Ends a session for good: cancels the turns that wait and run, and has the executor released. Everything stays readable. Fails with
     * `invalid_transition` for a session that is closed.
     */
    readonly close: (principal: Principal, sessionId: string) => Move<"invalid_transition">
  }
>() {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const lifecycles = yield* SessionLifecycles
      const list = yield* makeList
      const create = yield* creation
      const update = yield* makeUpdate
      const { sessionActions } = yield* configuredRules

      /** The session after a command of a principal, whose role was read with the session before it. */
      const shown = (principal: Principal, { role }: SeenSession, row: SessionRow) =>
        toSession(row, sessionActions(principal, role, row))

      return Sessions.of({
        list: fn("Sessions.list")(list),
        create: (principal, workspaceId, input) =>
          journal.prepared(
            "Sessions.create",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            create(principal, workspaceId, input)
          ),
        get: (principal, sessionId) =>
          Effect.map(sessions.readable(principal, sessionId), (row) =>
            toSession(row, sessionActions(principal, row.role, row))
          ),
        update: (principal, sessionId, patch) =>
          journal.command(
            "Sessions.update",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const row = yield* sessions.writable(principal, sessionId)
              return shown(principal, row, yield* update(principal, row, patch))
            })
          ),
        archive: (principal, sessionId) =>
          journal.command(
            "Sessions.archive",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const row = yield* sessions.writable(principal, sessionId)
              yield* requireAll(sessionRules.archive, row)
              return shown(principal, row, yield* sessions.move(row, "archived", actorOf(principal)))
            })
          ),
        unarchive: (principal, sessionId) =>
          journal.command(
            "Sessions.unarchive",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const row = yield* sessions.writable(principal, sessionId)
              yield* requireAll(sessionRules.unarchive, row)
              return shown(principal, row, yield* sessions.move(row, "open", actorOf(principal)))
            })
          ),
        close: (principal, sessionId) =>
          journal.command(
            "Sessions.close",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const row = yield* sessions.writable(principal, sessionId)
              yield* requireAll(sessionRules.close, row)
              return shown(principal, row, yield* lifecycles.close(row, actorOf(principal)))
            })
          )
      })
    })
  )
}
