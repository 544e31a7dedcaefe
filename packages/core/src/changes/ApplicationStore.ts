import { fn } from "@reins/base/base/Traced"
import type { Actor, EventType, NewEvent } from "@reins/base/domain/Event"
import type { ApplicationId, SessionId, TurnId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { type Application, type ApplicationReason, type ApplicationState, applicationStates } from "./Application.js"

/** The columns that a new application starts with. */
export interface NewApplication
  extends Pick<Application, "id" | "changeset_id" | "session_id" | "target_session_id" | "strategy" | "dry_run"> {
  /** The turn in which it is applied; absent for one that a job applies while no turn runs. */
  readonly turn_id?: TurnId
}

/** A move of an application. The paths of `changed` are added to those that were planned; other fields that are absent become empty. */
export interface ApplicationChange {
  readonly state: ApplicationState
  readonly conflicts?: ReadonlyArray<string>
  readonly changed?: ReadonlyArray<string>
  readonly reason?: ApplicationReason
  readonly reasonMessage?: string
}

/** The rows of applications, their states, and the events that tell the target session of their ends. */
export class ApplicationStore extends Context.Tag("@reins/core/changes/ApplicationStore")<
  ApplicationStore,
  {
    /** Reads an application without a check of access. */
    readonly find: (applicationId: string) => Effect.Effect<Application | undefined>
    /** The paths in a session that applications have changed or were about to. */
    readonly pathsOf: (targetSessionId: SessionId) => Effect.Effect<ReadonlyArray<string>>
    /** The applications of a turn that have not ended. */
    readonly unended: (turnId: TurnId) => Effect.Effect<ReadonlyArray<ApplicationId>>
    /** Adds a pending application and gives it back. */
    readonly insert: (application: NewApplication) => Effect.Effect<Application, never, Commit>
    /** Adds paths to those that an application changes, before it writes them. */
    readonly plan: (applicationId: ApplicationId, paths: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    /** Moves an application and tells its end to the target session. Dies for a move that `applicationStates` does not draw. */
    readonly move: (
      applicationId: ApplicationId,
      change: ApplicationChange,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    ApplicationStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql

      const find = (id: string) =>
        Effect.map(db.first(sql<ApplicationRow>`select * from applications where id = ${id}`), (row) =>
          row === undefined ? undefined : toApplication(row)
        )
      const existing = existingOf("application", find)

      return ApplicationStore.of({
        find,
        pathsOf: fn("ApplicationStore.pathsOf")(function* (sessionId) {
          const rows = yield* db.all(sql<Pick<ApplicationRow, "changed">>`select changed from applications
            where target_session_id = ${sessionId} and changed <> '[]'`)
          return rows.flatMap(({ changed }): ReadonlyArray<string> => JSON.parse(changed))
        }),
        unended: fn("ApplicationStore.unended")(function* (turnId) {
          const rows = yield* db.all(sql<Pick<ApplicationRow, "id">>`select id from applications
            where turn_id = ${turnId} and state in ('pending', 'executing') order by id`)
          return rows.map(({ id }) => id)
        }),
        insert: fn("ApplicationStore.insert")(function* ({ dry_run, ...application }) {
          yield* db.run(
            sql`insert into applications ${sql.insert({
              ...application,
              dry_run: dry_run ? 1 : 0,
              state: "pending",
              conflicts: "[]",
              changed: "[]",
              created_at: yield* now
            })}`
          )
          return yield* existing(application.id)
        }),
        plan: fn("ApplicationStore.plan")(function* (id, paths) {
          const changed = JSON.stringify(union((yield* existing(id)).changed, paths))
          yield* db.run(sql`update applications set changed = ${changed} where id = ${id}`)
        }),
        move: fn("ApplicationStore.move")(function* (id, change, actor) {
          const before = yield* existing(id)
          yield* Effect.orDie(applicationStates.check(before.state, change.state))
          yield* db.run(
            sql`update applications set ${sql.update({
              state: change.state,
              conflicts: JSON.stringify(change.conflicts ?? []),
              changed: JSON.stringify(union(before.changed, change.changed ?? [])),
              reason: change.reason ?? null,
              reason_message: change.reasonMessage ?? null,
              finished_at: applicationStates.isTerminal(change.state) ? yield* now : null
            })} where id = ${id}`
          )
          const type = eventTypes[change.state]
          if (type === undefined) return
          yield* journal.append(before.target_session_id, actor, [eventOf(yield* existing(id), type)])
        })
      })
    })
  )
}

/** An earlier attempt may have written some of the paths. A later one finds these unchanged and does not name them again. */
const union = (before: ReadonlyArray<string>, more: ReadonlyArray<string>) => [...new Set([...before, ...more])].sort()

const eventTypes = {
  pending: undefined,
  executing: undefined,
  applied: "workspace.applied",
  conflicted: "workspace.apply_conflicted",
  failed: "workspace.apply_failed"
} as const satisfies Record<ApplicationState, EventType | undefined>

const maxConflictsTold = 100

const eventOf = (application: Application, type: EventType & `workspace.appl${string}`): NewEvent => ({
  type,
  payload: {
    application_id: application.id,
    source_session_id: application.session_id,
    strategy: application.strategy,
    dry_run: application.dry_run,
    state: application.state,
    changed_count: application.changed.length,
    conflict_count: application.conflicts.length,
    conflicts: application.conflicts.slice(0, maxConflictsTold),
    reason: application.reason,
    reason_message: application.reason_message
  },
  subjects: { changeset_id: application.changeset_id }
})

interface ApplicationRow extends Omit<Application, "dry_run" | "conflicts" | "changed"> {
  readonly turn_id: string | null
  readonly dry_run: number
  readonly conflicts: string
  readonly changed: string
}

const toApplication = ({ turn_id: _, ...row }: ApplicationRow): Application => ({
  ...row,
  dry_run: row.dry_run === 1,
  conflicts: JSON.parse(row.conflicts),
  changed: JSON.parse(row.changed)
})
