import { Context, Effect, Layer } from "effect"
import { actorOf } from "../access/Access.js"
import type { ApplicationAnswer, ApplicationInput } from "../api/ChangesApi.js"
import { fn } from "../base/Traced.js"
import {
  type Application,
  type ApplicationReason,
  type ApplicationState,
  applicationStates
} from "../domain/Application.js"
import type { Actor, EventType } from "../domain/Event.js"
import { ApplicationId, newId } from "../domain/Ids.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import { now } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { turnActive } from "../sessions/Sessions.js"
import { notOpen } from "../sessions/Turns.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { Changesets, noWorkspace } from "./Changesets.js"
import { unsealed } from "./Deliveries.js"

/** The kind of the job that applies a changeset. */
export const applyJobKind = "changeset.apply"

/** How an application ends; what is left out is empty, and what was planned is kept. */
export interface ApplicationChange {
  readonly state: ApplicationState
  readonly conflicts?: ReadonlyArray<string>
  readonly changed?: ReadonlyArray<string>
  readonly reason?: ApplicationReason
  readonly reasonMessage?: string
}

/** Sealed changesets brought into the workspaces of sessions. */
export class Applications extends Context.Tag("@reins/core/changes/Applications")<
  Applications,
  {
    readonly get: (principal: Principal, applicationId: string) => Effect.Effect<Application, ReinsError>
    /**
     * Asks for a changeset in the workspace of a session that is idle. Fails with `stale_subject` for an unsealed changeset, with
     * `turn_active` during a turn of the target and with `executor_unavailable` while the target has no workspace.
     */
    readonly request: (
      principal: Principal,
      changesetId: string,
      input: ApplicationInput
    ) => Command<ApplicationAnswer, ReinsError>
    readonly find: (applicationId: string) => Effect.Effect<Application | undefined>
    /** Adds to what an application changes, before it does. */
    readonly plan: (applicationId: ApplicationId, paths: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    /** Moves an application, and tells its end to the target session. Other moves than drawn die. */
    readonly move: (
      applicationId: ApplicationId,
      change: ApplicationChange,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Applications,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const jobs = yield* JobStore
      const sessions = yield* SessionStore
      const changesets = yield* Changesets
      const sql = db.sql

      const find = (id: string) =>
        Effect.map(db.first(sql<ApplicationRow>`select * from applications where id = ${id}`), (row) =>
          row === undefined ? undefined : toApplication(row)
        )
      const existing = existingOf("application", find)
      const tell = (application: Application, type: EventType & `workspace.appl${string}`, actor: Actor) =>
        journal.append(application.target_session_id, actor, [
          {
            type,
            payload: {
              application_id: application.id,
              source_session_id: application.session_id,
              strategy: application.strategy,
              dry_run: application.dry_run,
              state: application.state,
              changed_count: application.changed.length,
              conflict_count: application.conflicts.length,
              conflicts: application.conflicts.slice(0, 100),
              reason: application.reason,
              reason_message: application.reason_message
            },
            subjects: { changeset_id: application.changeset_id }
          }
        ])

      return Applications.of({
        find,
        get: fn("Applications.get")(function* (principal, applicationId) {
          const application = yield* find(applicationId)
          if (application === undefined) return yield* notFound()
          yield* sessions.readable(principal, application.target_session_id)
          return application
        }),
        request: (principal, changesetId, input) =>
          journal.command(
            "Applications.request",
            Effect.gen(function* () {
              const changeset = yield* changesets.get(principal, changesetId)
              const target = yield* sessions.writable(principal, input.target_session_id)
              if (changeset.state !== "ready") return yield* unsealed(changeset)
              if (target.lifecycle !== "open") return yield* notOpen(target)
              if (target.active_turn_id !== null) return yield* turnActive(target)
              if (target.workspace_state !== "ready") return yield* noWorkspace(target)
              const id = yield* newId(ApplicationId)
              yield* db.run(
                sql`insert into applications ${sql.insert({
                  id,
                  changeset_id: changeset.id,
                  session_id: changeset.session_id,
                  target_session_id: target.id,
                  strategy: input.strategy ?? "three_way",
                  dry_run: input.dry_run === true ? 1 : 0,
                  state: "pending",
                  conflicts: "[]",
                  changed: "[]",
                  created_at: yield* now
                })}`
              )
              const operation = yield* jobs.enqueue({
                kind: applyJobKind,
                subject: { type: "application", id },
                workspaceId: target.workspace_id,
                payload: { application_id: id },
                maxAttempts: 8
              })
              return {
                operation,
                application: yield* existing(id),
                event_watermark: yield* journal.append(target.id, actorOf(principal), [])
              }
            })
          ),
        plan: fn("Applications.plan")(function* (id, paths) {
          const changed = JSON.stringify(union((yield* existing(id)).changed, paths))
          yield* db.run(sql`update applications set changed = ${changed} where id = ${id}`)
        }),
        move: fn("Applications.move")(function* (id, change, actor) {
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
          const type = eventOf[change.state]
          if (type !== undefined) yield* tell(yield* existing(id), type, actor)
        })
      })
    })
  )
}

/** An earlier attempt may have written some of the paths, which a later one finds as they are to be. */
const union = (before: ReadonlyArray<string>, more: ReadonlyArray<string>) => [...new Set([...before, ...more])].sort()

const eventOf = {
  pending: undefined,
  executing: undefined,
  applied: "workspace.applied",
  conflicted: "workspace.apply_conflicted",
  failed: "workspace.apply_failed"
} as const satisfies Record<ApplicationState, EventType | undefined>

interface ApplicationRow extends Omit<Application, "dry_run" | "conflicts" | "changed"> {
  readonly dry_run: number
  readonly conflicts: string
  readonly changed: string
}

const toApplication = (row: ApplicationRow): Application => ({
  ...row,
  dry_run: row.dry_run === 1,
  conflicts: JSON.parse(row.conflicts),
  changed: JSON.parse(row.changed)
})
