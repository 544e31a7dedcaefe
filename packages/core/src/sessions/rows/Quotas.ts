import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { Placements } from "../../placement/Placements.js"
import type { Commit } from "../../store/Commit.js"
import { alone } from "../../store/CommitLock.js"
import { Database } from "../../store/Database.js"

/** A workspace has as much of something as the operator gives it. */
export type QuotaExhausted = ReinsError<"quota_exhausted">

/** The shares that workspaces have of the service. Nothing is asked where the operator sets no limit. */
export class Quotas extends Context.Tag("@reins/core/sessions/Quotas")<
  Quotas,
  {
    /** Fails with `quota_exhausted` when the workspace has no place for another session. Others that ask in a commit wait for its end. */
    readonly session: (workspaceId: WorkspaceId) => Effect.Effect<void, QuotaExhausted, Commit>
    /** The same for the files of a session, which are a clone of its repository. */
    readonly workingTree: (workspaceId: WorkspaceId) => Effect.Effect<void, QuotaExhausted, Commit>
    /** Fails with `quota_exhausted` when the sessions of a workspace hold more bytes than they may, as they were measured last. */
    readonly disk: (workspaceId: WorkspaceId) => Effect.Effect<void, QuotaExhausted>
    /** Sessions whose files are here and may have changed since they were measured, the longest unmeasured first; at most `limit`. */
    readonly unmeasured: (limit: number) => Effect.Effect<ReadonlyArray<SessionId>>
    /** Notes the bytes that the files of a session take on the disk. The statement is a commit of its own. */
    readonly measured: (sessionId: SessionId, bytes: number) => Effect.Effect<void>
    /** Corrects what was noted by so many bytes, which may be negative. Nothing happens for a session that was not measured. */
    readonly corrected: (sessionId: string, bytes: number) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function* () {
      const { diskBytesPerWorkspace, sessionsPerWorkspace, workingTreesPerWorkspace } = (yield* CoreConfig).limits
      const db = yield* Database
      const { sql } = db
      const placements = yield* Placements

      const required = Effect.fnUntraced(function* (
        quota: keyof typeof words,
        limit: number,
        count: Effect.Effect<{ readonly used: number } | undefined>
      ) {
        const used = (yield* count)?.used ?? 0
        if (used >= limit) return yield* exhausted(quota, used, limit)
      })

      return Quotas.of({
        session: (workspaceId) =>
          sessionsPerWorkspace === null
            ? Effect.void
            : Effect.zipRight(
                alone(db, workspaceId),
                required(
                  "sessions",
                  sessionsPerWorkspace,
                  db.first(sql<{ used: number }>`select cast(count(*) as integer) as used from sessions
                    where workspace_id = ${workspaceId} and lifecycle in ('open', 'archived')`)
                )
              ),
        workingTree: (workspaceId) =>
          workingTreesPerWorkspace === null
            ? Effect.void
            : Effect.zipRight(
                alone(db, workspaceId),
                required(
                  "working_trees",
                  workingTreesPerWorkspace,
                  db.first(sql<{ used: number }>`select cast(count(*) as integer) as used from sessions
                    join working_trees on working_trees.session_id = sessions.id
                    where workspace_id = ${workspaceId} and state in ('preparing', 'ready')`)
                )
              ),
        disk: (workspaceId) =>
          diskBytesPerWorkspace === null
            ? Effect.void
            : required(
                "disk_bytes",
                diskBytesPerWorkspace,
                db.first(sql<{ used: number }>`select cast(coalesce(sum(bytes), 0) as double precision) as used
                  from session_disk where workspace_id = ${workspaceId}`)
              ),
        unmeasured: (limit) =>
          Effect.map(
            db.all(sql<{ id: SessionId }>`select sessions.id from sessions
              join working_trees on working_trees.session_id = sessions.id
              left join leases on leases.session_id = sessions.id
              left join session_disk on session_disk.session_id = sessions.id
              where working_trees.state <> 'none'${placements.isHere(sql`sessions.id`)}
              and (measured_at is null or measured_at <= sessions.updated_at or leases.state = 'ready')
              order by coalesce(measured_at, ''), sessions.id limit ${limit}`),
            (rows) => rows.map(({ id }) => id)
          ),
        measured: Effect.fnUntraced(function* (sessionId, bytes) {
          const at = yield* now
          yield* db.run(sql`insert into session_disk (session_id, workspace_id, bytes, measured_at)
            select id, workspace_id, ${bytes}, ${at} from sessions where id = ${sessionId}
            on conflict (session_id) do update set bytes = excluded.bytes, measured_at = excluded.measured_at`)
        }),
        corrected: (sessionId, bytes) =>
          db.run(sql`update session_disk set bytes = bytes + ${bytes} where session_id = ${sessionId}`)
      })
    })
  )
}

const words = {
  sessions: "sessions that are not closed. Close some",
  working_trees: "working trees. Close sessions that are no longer needed",
  disk_bytes: "bytes on the disk. Close sessions that are no longer needed, or delete files in them"
}

const exhausted = (quota: keyof typeof words, used: number, limit: number): QuotaExhausted =>
  new ReinsError({
    code: "quota_exhausted",
    message: `The workspace may have ${limit} ${words[quota]}, or ask the operator for more.`,
    details: { quota, used, limit }
  })
