import type { Actor } from "@reins/base/domain/Event"
import type { ProjectId, SessionId, TurnId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { SessionLifecycle } from "./rows/Session.js"
import { SessionStore } from "./rows/SessionStore.js"
import { isUnsettled } from "./rows/TurnConditions.js"

/** The sessions that were made from a project. */
export const projectUses = Effect.gen(function* () {
  const { all, first, run, sql } = yield* Database
  const sessions = yield* SessionStore

  return {
    /** A turn of one of the sessions that waits or runs; undefined when there is none. */
    findLiveTurn: (projectId: ProjectId) =>
      first(sql<{ readonly id: TurnId; readonly session_id: SessionId }>`select turns.id, turns.session_id
        from sessions join turns on turns.session_id = sessions.id and ${sql.literal(isUnsettled("turns"))}
          and turns.finished_at is null
        where sessions.project_id = ${projectId} and sessions.deleting_at is null limit 1`),

    /**
     * Takes the project from some of the sessions, at most `limit`, and gives their number. They keep all that they have taken over from it. Those that
     * are not closed tell it.
     */
    release: Effect.fnUntraced(function* (
      projectId: string,
      actor: Actor,
      limit: number
    ): Effect.fn.Return<number, never, Commit> {
      const found = yield* all(sql<{ id: SessionId; lifecycle: SessionLifecycle; deleting_at: string | null }>`
        select id, lifecycle, deleting_at from sessions where project_id = ${projectId} order by id limit ${limit}`)
      for (const { deleting_at, id, lifecycle } of found) {
        yield* sessions.lock(id)
        yield* run(sql`update sessions set project_id = null, project_version_id = null where id = ${id}`)
        const row = yield* sessions.find(id)
        if (row !== undefined && lifecycle !== "closed" && deleting_at === null) yield* sessions.update(row, {}, actor)
      }
      return found.length
    })
  }
})
