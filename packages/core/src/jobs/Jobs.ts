import type { Fragment } from "@effect/sql/Statement"
import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Unseen } from "../access/Access.js"
import { Database } from "../store/Database.js"
import type { Job, Operation } from "./Job.js"
import * as JobRow from "./JobRow.js"

/** Shows the durable work of a workspace to its members. Jobs that belong to no workspace are never shown. */
export class Jobs extends Context.Tag("@reins/core/jobs/Jobs")<
  Jobs,
  {
    /** A job with its attempts, oldest first. Fails with `not_found` also when the principal may not see it. */
    readonly get: (principal: Principal, jobId: string) => Effect.Effect<Job, Unseen>
    /** All jobs of one request, oldest first. The state of the operation is that of its newest job. Fails like `get`. */
    readonly operation: (principal: Principal, operationId: string) => Effect.Effect<Operation, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const db = yield* Database
      const access = yield* Access
      const { sql } = db

      /** The jobs that a condition names. They belong to one workspace, because one request made them. */
      const visible = Effect.fnUntraced(function* (principal: Principal, where: Fragment) {
        const { jobs, workspaceId } = yield* JobRow.readJobs(db, where)
        if (workspaceId === null) return yield* notFound()
        yield* access.read(principal, workspaceId)
        return jobs
      })

      return Jobs.of({
        get: fn("Jobs.get")(function* (principal, jobId) {
          const [job] = yield* visible(principal, sql`jobs.id = ${jobId}`)
          return job ?? (yield* notFound())
        }),
        operation: fn("Jobs.operation")(function* (principal, operationId) {
          const jobs = yield* visible(principal, sql`jobs.operation_id = ${operationId}`)
          const last = jobs.at(-1)
          if (last === undefined) return yield* notFound()
          return {
            id: last.operation_id,
            kind: last.kind,
            state: last.state,
            subject: last.subject,
            jobs,
            created_at: last.created_at,
            finished_at: last.finished_at
          }
        })
      })
    })
  )
}
