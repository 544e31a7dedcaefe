import type { Actor } from "@reins/base/domain/Event"
import { ApiKeyId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Providers, type Unrunnable } from "../../catalog/Providers.js"
import { JobStore } from "../../jobs/JobStore.js"
import type { Commit } from "../../store/Commit.js"
import { OfferedTools } from "../functions/OfferedTools.js"
import { makeToolQuota } from "../functions/ToolQuota.js"
import { Quotas } from "../rows/Quotas.js"
import { sessionStates } from "../rows/Session.js"
import { SessionListeners } from "../rows/SessionListeners.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { SessionStore } from "../rows/SessionStore.js"
import { TurnStore } from "../turns/TurnStore.js"
import { newColumns } from "./NewColumns.js"
import * as SessionOrigin from "./SessionOrigin.js"
import type { SessionInput } from "./SessionsApi.js"

/** The refusals of a session that no turn could run in. */
export type Unbegun = ReinsError<
  Unrunnable["code"] | "executor_unavailable" | "invalid_transition" | "quota_exhausted" | "unsupported_capability"
>

/** The kind of the job that ends the executor of a session. */
export const releaseJobKind = "session.release"

/** The beginning and the end of sessions, for every actor, inside a commit of the caller. */
export class SessionLifecycles extends Context.Tag("@reins/core/sessions/SessionLifecycles")<
  SessionLifecycles,
  {
    /**
     * Makes a session as a client asks for it. Fails like `Providers.requireRunnable`, with `not_found` for its project, with
     * `invalid_transition` for a project that is archived, with `unsupported_capability` for permissions that its provider cannot ask for,
     * and with `quota_exhausted` when the workspace has its share, as the two methods below do.
     */
    readonly begin: (
      workspaceId: WorkspaceId,
      actor: Actor,
      input: SessionInput
    ) => Effect.Effect<SessionRow, Unbegun, Commit>
    /** Makes the child session of a delegation. The commit holds the parent. */
    readonly spawn: (
      parent: SessionRow,
      actor: Actor,
      child: SessionOrigin.ChildSession
    ) => Effect.Effect<SessionRow, Unbegun, Commit>
    /** Makes a session that goes on from another one, which the commit holds. */
    readonly link: (
      from: SessionRow,
      actor: Actor,
      next: SessionOrigin.LinkedSession
    ) => Effect.Effect<SessionRow, Unbegun, Commit>
    /** Cancels the turns of a session, closes it, and has its executor released. The commit holds the session. */
    readonly close: (
      session: SessionRow,
      actor: Actor
    ) => Effect.Effect<SessionRow, ReinsError<"invalid_transition">, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    SessionLifecycles,
    Effect.gen(function* () {
      const sessions = yield* SessionStore
      const turns = yield* TurnStore
      const jobs = yield* JobStore
      const listeners = yield* SessionListeners
      const quotas = yield* Quotas
      const providers = yield* Providers
      const tools = yield* OfferedTools
      const columnsOf = yield* newColumns
      const toolQuota = yield* makeToolQuota

      const insert = Effect.fnUntraced(function* (
        workspaceId: WorkspaceId,
        actor: Actor,
        origin: SessionOrigin.SessionOrigin,
        parent?: SessionRow
      ) {
        const api_key_id = actor.kind === "api_key" ? ApiKeyId.make(actor.id) : (parent?.lineage.api_key_id ?? null)
        const columns = yield* columnsOf(workspaceId, origin)
        yield* quotas.session(workspaceId)
        yield* quotas.disk(workspaceId)
        return yield* sessions.insert({ ...columns, lineage: { ...columns.lineage, api_key_id } }, actor)
      })

      return SessionLifecycles.of({
        begin: Effect.fnUntraced(function* (workspaceId, actor, input) {
          const row = yield* insert(workspaceId, actor, SessionOrigin.ofRequest(input))
          if (input.tools === undefined) return row
          if ((input.tools.functions ?? []).length > 0) yield* providers.requireTools(row.provider_id)
          yield* tools.choose(ownerOf(row), input.tools)
          yield* toolQuota(row, input.tools.functions ?? [])
          return row
        }),
        // The functions are those of a conversation. Whoever answers for them knows nothing of the child.
        spawn: (parent, actor, child) =>
          Effect.tap(insert(parent.workspace_id, actor, SessionOrigin.ofChild(parent, child), parent), (row) =>
            tools.copy(parent.id, ownerOf(row), "own")
          ),
        link: (from, actor, next) =>
          Effect.tap(insert(from.workspace_id, actor, SessionOrigin.ofLink(from, next)), (row) =>
            tools.copy(from.id, ownerOf(row), "all")
          ),
        close: Effect.fnUntraced(function* (row, actor) {
          yield* sessionStates.check(row.lifecycle, "closed")
          yield* listeners.closing(row, actor)
          yield* turns.cancelAll(row.id, actor)
          yield* jobs.enqueue({
            kind: releaseJobKind,
            subject: { type: "session", id: row.id },
            workspaceId: row.workspace_id,
            payload: { session_id: row.id },
            filesOf: row.id,
            maxAttempts: 20
          })
          return yield* sessions.move(row, "closed", actor)
        })
      })
    })
  )
}

const ownerOf = ({ id }: SessionRow) => ({ id, session_id: id })
