import { fn } from "@reins/base/base/Traced"
import { requireAll } from "@reins/base/domain/Condition"
import { ApplicationId, newId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { JobStore } from "../jobs/JobStore.js"
import { applicationTarget } from "../sessions/rows/SessionRules.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { Application } from "./Application.js"
import { ApplicationStore } from "./ApplicationStore.js"
import { changesetRules } from "./ChangeRules.js"
import type { ApplicationAnswer, ApplicationInput } from "./ChangesApi.js"
import { Changesets } from "./Changesets.js"

/** The kind of the job that applies a changeset; its payload is `{application_id}`. */
export const applyJobKind = "changeset.apply"

/** A target session can be closed or archived (`invalid_transition`), at work, or without a workspace. */
type TargetRefusal = "invalid_transition" | "turn_active" | "executor_unavailable"

/** Sealed changesets brought into the workspaces of sessions. */
export class Applications extends Context.Tag("@reins/core/changes/Applications")<
  Applications,
  {
    /** An application to a session that the principal may see. */
    readonly get: (principal: Principal, applicationId: string) => Effect.Effect<Application, Unseen>
    /**
     * Asks for a changeset in the workspace of an idle session. Fails with `stale_subject` for an unsealed changeset, with `turn_active`
     * during a turn of the target, with `executor_unavailable` until the target has a workspace, and with `invalid_transition` when the
     * target is not open.
     */
    readonly request: (
      principal: Principal,
      changesetId: string,
      input: ApplicationInput
    ) => Command<ApplicationAnswer, Denied | ReinsError<"stale_subject" | TargetRefusal>>
  }
>() {
  static readonly layer = Layer.effect(
    Applications,
    Effect.gen(function* () {
      const journal = yield* Journal
      const jobs = yield* JobStore
      const sessions = yield* SessionStore
      const changesets = yield* Changesets
      const store = yield* ApplicationStore

      const request = Effect.fnUntraced(function* (
        principal: Principal,
        changesetId: string,
        { dry_run = false, strategy = "three_way", target_session_id }: ApplicationInput
      ) {
        const changeset = yield* changesets.get(principal, changesetId)
        const target = yield* sessions.writable(principal, target_session_id)
        yield* requireAll(changesetRules.apply, changeset)
        yield* requireAll(applicationTarget, target)
        const application = yield* store.insert({
          id: yield* newId(ApplicationId),
          changeset_id: changeset.id,
          session_id: changeset.session_id,
          target_session_id: target.id,
          strategy,
          dry_run
        })
        const operation = yield* jobs.enqueue({
          kind: applyJobKind,
          subject: { type: "application", id: application.id },
          workspaceId: target.workspace_id,
          payload: { application_id: application.id },
          filesOf: target.id,
          maxAttempts: 8
        })
        const watermark = yield* journal.append(target.id, actorOf(principal), [])
        return { operation, application, event_watermark: watermark }
      })

      return Applications.of({
        get: fn("Applications.get")(function* (principal, applicationId) {
          const application = yield* store.find(applicationId)
          if (application === undefined) return yield* notFound()
          yield* sessions.readable(principal, application.target_session_id)
          return application
        }),
        request: (principal, changesetId, input) =>
          journal.command(
            "Applications.request",
            { by: principal, about: { type: "changeset", id: changesetId } },
            request(principal, changesetId, input)
          )
      })
    })
  )
}
