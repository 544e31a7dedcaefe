import { Context, Effect, Layer } from "effect"
import { Access, actorOf, type Denied, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { Providers } from "../catalog/Providers.js"
import { requireAll } from "../domain/Condition.js"
import { WorkspaceId } from "../domain/Ids.js"
import type { Page } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { Git } from "../git/Git.js"
import { checkPosted } from "../git/PostedUrl.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { expectVersion } from "../store/Version.js"
import { Inbox, type Unpostable } from "./Inbox.js"
import { repositoryMove } from "./RepositoryMove.js"
import { ResultSchemas } from "./results/ResultSchemas.js"
import type { Session } from "./Session.js"
import { type SessionFilter, selectionOf } from "./SessionFilters.js"
import { SessionLifecycles, type Unbegun } from "./SessionLifecycles.js"
import { SessionListeners } from "./SessionListeners.js"
import type { SeenSession, SessionRow, SessionUpdate } from "./SessionRow.js"
import { configuredRules, sessionRules } from "./SessionRules.js"
import { SessionStore } from "./SessionStore.js"
import type { CreatedSession, SessionInput, SessionPatch } from "./SessionsApi.js"
import { toSession } from "./SessionView.js"
import { sessionBudgets } from "./usage/SessionBudgets.js"

/** A command that moves or changes a session. */
type Change<
  Code extends
    | "invalid_transition"
    | "turn_active"
    | "version_conflict"
    | "harness_switch_required"
    | "provider_disabled"
    | "unsupported_capability"
    | "budget_unenforceable"
    | "delivery_unresolved",
  Malformed = never
> = Command<Session, Denied | ReinsError<Code> | Malformed>

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
    ) => Command<CreatedSession, Denied | Unbegun | Unpostable | RequestInvalid>
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
    readonly update: (
      principal: Principal,
      sessionId: string,
      patch: SessionPatch
    ) => Change<
      | "invalid_transition"
      | "version_conflict"
      | "harness_switch_required"
      | "provider_disabled"
      | "unsupported_capability"
      | "budget_unenforceable"
      | "turn_active"
      | "delivery_unresolved",
      RequestInvalid
    >
    /**
     * Puts an open session away: it stays readable and takes no work. Fails with `turn_active` while a turn waits or runs, and with
     * `invalid_transition` for a session that is not open.
     */
    readonly archive: (principal: Principal, sessionId: string) => Change<"invalid_transition" | "turn_active">
    /** Opens an archived session again. Fails with `invalid_transition` for one that is not archived. */
    readonly unarchive: (principal: Principal, sessionId: string) => Change<"invalid_transition">
    /**
     * Ends a session for good: cancels the turns that wait and run, and has the executor released. Everything stays readable. Fails with
     * `invalid_transition` for a session that is closed.
     */
    readonly close: (principal: Principal, sessionId: string) => Change<"invalid_transition">
  }
>() {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const access = yield* Access
      const sessions = yield* SessionStore
      const lifecycles = yield* SessionLifecycles
      const create = yield* creation
      const providers = yield* Providers
      const { sessionActions } = yield* configuredRules
      const budgets = yield* BudgetStore
      const limits = yield* sessionBudgets
      const moveRepository = yield* repositoryMove

      /** The session after a command of a principal, whose role was read with the session before it. */
      const shown = (principal: Principal, { role }: SeenSession, row: SessionRow) =>
        toSession(row, sessionActions(principal, role, row))

      return Sessions.of({
        list: fn("Sessions.list")(function* (principal, workspaceId, filter) {
          const role = yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(filter)
          const rows = yield* sessions.select(selectionOf(db, workspaceId, filter, { before, limit: limit + 1 }))
          return Keyset.page(
            rows.map((row) => toSession(row, sessionActions(principal, role, row))),
            limit,
            (session) => session.id
          )
        }),
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
              yield* expectVersion(row.version, patch.expected_version)
              if (patch.provider_id !== undefined && patch.provider_id !== row.provider_id)
                return yield* switchRequired(row, patch.provider_id)
              yield* requireAll(sessionRules.update, row)
              yield* providers.requirePermissions(row.provider_id, patch.permissions ?? undefined)
              const changed = { ...row, model: patch.model ?? row.model }
              const moved = yield* moveRepository(row, patch.repository)
              if (patch.budget) yield* limits.require(changed, actorOf(principal), patch.budget)
              if (patch.budget !== undefined) yield* budgets.set(row.id, patch.budget)
              return shown(
                principal,
                row,
                yield* sessions.update(row, { ...updateOf(patch), ...moved }, actorOf(principal))
              )
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

/** The preparation and the inside of `Sessions.create`. A schema takes a while to check, so that comes before the commit. */
const creation = Effect.gen(function* () {
  const schemas = yield* ResultSchemas
  const access = yield* Access
  const sessions = yield* SessionStore
  const lifecycles = yield* SessionLifecycles
  const listeners = yield* SessionListeners
  const inbox = yield* Inbox
  const git = yield* Git
  const { sessionActions } = yield* configuredRules
  const budgets = yield* BudgetStore
  const limits = yield* sessionBudgets

  const inside = Effect.fnUntraced(function* (principal: Principal, workspaceId: string, input: SessionInput) {
    const role = yield* access.write(principal, workspaceId)
    yield* checkPosted(git, ["body", "repository"], input.repository)
    const shown = (row: SessionRow) => toSession(row, sessionActions(principal, role, row))
    const anew = (row: SessionRow) => Effect.map(existingOf("session", sessions.find)(row.id), shown)
    const actor = actorOf(principal)
    const row = yield* lifecycles.begin(WorkspaceId.make(workspaceId), actor, input)
    if (input.budget !== undefined) {
      yield* limits.require(row, actor, input.budget)
      yield* budgets.set(row.id, input.budget)
    }
    const waits = input.prewarm === false ? Effect.void : listeners.begun(row)
    if (input.message === undefined) {
      yield* waits
      return input.budget === undefined ? shown(row) : yield* anew(row)
    }
    const { at, message } = firstOf(input.message)
    const sent = yield* inbox.accept(row, actor, message, { at })
    if (sent.turn_id === undefined) yield* waits
    return {
      ...(yield* anew(row)),
      ...(sent.turn_id !== undefined && { turn_id: sent.turn_id }),
      ...(sent.operation !== undefined && { operation: sent.operation })
    }
  })

  return (principal: Principal, workspaceId: string, input: SessionInput) =>
    Effect.as(
      schemas.checkSchema(wantedBy(input.message), ["body", "message", "result_schema"]),
      inside(principal, workspaceId, input)
    )
})

const wantedBy = (message: SessionInput["message"]) =>
  typeof message === "object" && "content" in message ? message.result_schema : undefined

/** The first message as any other one, and where the body holds its content. */
const firstOf = (given: NonNullable<SessionInput["message"]>) =>
  typeof given === "object" && "content" in given
    ? { message: given, at: ["message", "content"] }
    : { message: { content: given }, at: ["message"] }

const updateOf = ({ auto_capture, labels, model, options, permissions, title }: SessionPatch): SessionUpdate => ({
  ...(title !== undefined && { title }),
  ...(labels !== undefined && { labels: JSON.stringify(labels) }),
  ...(model !== undefined && { model }),
  ...(options !== undefined && { options: options === null ? null : JSON.stringify(options) }),
  ...(permissions !== undefined && { permissions: permissions === null ? null : JSON.stringify(permissions) }),
  ...(auto_capture !== undefined && { auto_capture: auto_capture ? 1 : 0 })
})

const switchRequired = (row: SessionRow, providerId: string): ReinsError<"harness_switch_required"> =>
  new ReinsError({
    code: "harness_switch_required",
    message: `A session keeps its provider (${row.provider_id}). To go on with ${providerId}, create a new session with a summary.`,
    details: { provider_id: row.provider_id, requested: providerId }
  })
