import { bounded } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { newestRuns, textOfParts } from "./CheckIdentity.js"
import { Context, checkName, orNull, Time, WebPage } from "./ForeignParts.js"
import type { CheckState, RemoteCheck } from "./ForgeView.js"
import { allPages, type Get, type Loaded, mostChecks } from "./Viewing.js"

// Owns how GitLab tells its checks apart. A check is a job by its name, in the pipelines of one source for one ref.

const Status = Schema.Struct({
  id: Schema.Int,
  name: Context,
  status: Schema.String,
  ref: orNull(Schema.String),
  pipeline_id: orNull(Schema.Int),
  allow_failure: orNull(Schema.Boolean),
  started_at: Time,
  finished_at: Time,
  target_url: WebPage
})

const Pipeline = Schema.Struct({ id: Schema.Int, source: Schema.String, ref: Schema.String })

type Pipelines = ReadonlyMap<number, typeof Pipeline.Type>

/** Reads the checks of commits. */
export const gitLabChecks = (root: string) =>
  Effect.fnUntraced(function* (get: Get, shas: ReadonlyArray<string>) {
    const statuses = yield* Effect.forEach(shas, (sha) =>
      allPages(get.page, {
        path: (page) => `${root}/repository/commits/${sha}/statuses?per_page=100&page=${page}`,
        size: 100,
        most: mostChecks,
        schema: Status
      })
    )
    const found = statuses.flatMap(({ value }) => value)
    const pipelines = new Map(
      (yield* Effect.forEach(found.length === 0 ? [] : shas, (sha) => pipelinesOf(get, root, sha))).flat()
    )
    const checks = found.map((status) => checkOf(status, pipelines))
    return {
      value: newestRuns(checks, ({ check }) => check.key).map(({ check }) => check),
      complete: statuses.every(({ complete }) => complete),
      odd: statuses.flatMap(({ odd }) => odd)
    } satisfies Loaded<ReadonlyArray<RemoteCheck>>
  })

/** The pipelines of a commit. None where the forge does not show them: a job is told apart by the id of its pipeline then. */
const pipelinesOf = Effect.fnUntraced(function* (get: Get, root: string, sha: string) {
  const read = yield* get.extra(
    "pipelines",
    allPages(get.page, {
      path: (page) => `${root}/pipelines?sha=${sha}&per_page=100&page=${page}`,
      size: 100,
      most: mostChecks,
      schema: Pipeline
    })
  )
  return (read?.value ?? []).map((pipeline) => [pipeline.id, pipeline] as const)
})

// A word that is not known is no success. A plain object would know words such as `constructor`.
const states: ReadonlyMap<string, CheckState> = new Map([
  ["created", "pending"],
  ["waiting_for_resource", "pending"],
  ["waiting_for_callback", "pending"],
  ["preparing", "pending"],
  ["pending", "pending"],
  ["running", "pending"],
  ["scheduled", "pending"],
  ["success", "passing"],
  ["canceling", "cancelled"],
  ["canceled", "cancelled"],
  ["skipped", "skipped"],
  ["manual", "action_required"]
])

const longestSource = 64

const checkOf = (status: typeof Status.Type, pipelines: Pipelines) => {
  const { id, name: context, pipeline_id: round, ref, started_at: startedAt } = status
  const pipeline = round === null ? undefined : pipelines.get(round)
  // Releases that do not name the pipeline of a job have its ref.
  const origin =
    pipeline !== undefined ? [pipeline.source, pipeline.ref] : round === null ? [ref] : [`pipeline ${round}`]
  const check: RemoteCheck = {
    key: `status:${textOfParts([...origin, context])}`,
    run: String(id),
    name: checkName(context),
    identity: {
      context,
      app: null,
      source: textOfParts([context]),
      trigger: pipeline === undefined ? null : bounded(pipeline.source, longestSource)
    },
    state: states.get(status.status) ?? "failing",
    optional: status.allow_failure === true,
    startedAt,
    endedAt: status.finished_at,
    url: status.target_url
  }
  // A job that was begun again has a new number.
  return { check, id, round: round ?? 0, startedAt: null }
}
