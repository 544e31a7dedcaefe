import { adorns, bounded } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { newestRuns, textOfParts } from "./CheckIdentity.js"
import { Context, checkName, Time, WebPage } from "./ForeignParts.js"
import type { CheckState, RemoteCheck } from "./ForgeView.js"
import { allPages, type Get, mostChecks } from "./Viewing.js"

// Owns how GitHub tells its checks apart. A check is a job of a workflow for an event, or what another app reports under a name.

const Run = Schema.Struct({
  id: Schema.Int,
  name: Context,
  status: Schema.String,
  conclusion: Schema.NullOr(Schema.String),
  started_at: Time,
  completed_at: Time,
  html_url: WebPage,
  app: adorns(Schema.Struct({ id: Schema.Int, slug: Schema.optional(Schema.String) })),
  check_suite: adorns(Schema.Struct({ id: Schema.Int }))
})

/** A run of a workflow, by the suite that its jobs are in. */
const WorkflowRun = Schema.Struct({
  check_suite_id: Schema.Int,
  workflow_id: Schema.Int,
  event: Schema.String
})

const Status = Schema.Struct({
  id: Schema.Int,
  context: Context,
  state: Schema.String,
  target_url: WebPage,
  created_at: Time,
  updated_at: Time,
  avatar_url: adorns(Schema.String)
})

type Workflows = ReadonlyMap<number, typeof WorkflowRun.Type>

/** Reads the checks of a commit. */
export const gitHubChecks = (root: string) =>
  Effect.fnUntraced(function* (get: Get, headSha: string) {
    const runs = yield* allPages(get.page, {
      path: (page) => `${root}/commits/${headSha}/check-runs?filter=latest&per_page=100&page=${page}`,
      size: 100,
      most: mostChecks,
      schema: Run,
      itemsOf: "check_runs"
    })
    const statuses = yield* allPages(get.page, {
      path: (page) => `${root}/commits/${headSha}/status?per_page=100&page=${page}`,
      size: 100,
      most: mostChecks,
      schema: Status,
      itemsOf: "statuses"
    })
    const mayBeActions = runs.value.some(({ app }) => app?.slug === undefined || app.slug === "github-actions")
    const workflows: Workflows = mayBeActions ? yield* workflowsOf(get, root, headSha) : new Map()
    const checks = runs.value.map((run) => runOf(run, workflows))
    return {
      value: [...newestRuns(checks, keyOf), ...newestRuns(statuses.value.map(statusOf), keyOf)].map(
        ({ check }) => check
      ),
      complete: runs.complete && statuses.complete,
      odd: [...runs.odd, ...statuses.odd]
    }
  })

/** The suites of workflows. None where the forge does not show them, or not in a form that is known: a check is told apart by its suite then. */
const workflowsOf = Effect.fnUntraced(function* (get: Get, root: string, headSha: string) {
  const read = yield* get.extra(
    "actions",
    allPages(get.page, {
      path: (page) => `${root}/actions/runs?head_sha=${headSha}&per_page=100&page=${page}`,
      size: 100,
      most: mostChecks,
      schema: WorkflowRun,
      itemsOf: "workflow_runs"
    })
  )
  return new Map((read?.value ?? []).map((run) => [run.check_suite_id, run]))
})

/** A run with its place among those of its check. */
interface Ordered {
  readonly id: number
  readonly startedAt: string | null
  readonly round: 0
  readonly check: RemoteCheck
}

const keyOf = ({ check }: Ordered): string => check.key

// A word that is not known is no success. A plain object would know words such as `constructor`.
const conclusions: ReadonlyMap<string | null, CheckState> = new Map([
  ["success", "passing"],
  ["neutral", "skipped"],
  ["skipped", "skipped"],
  ["cancelled", "cancelled"],
  ["stale", "cancelled"],
  ["action_required", "action_required"]
])

const runOf = (run: typeof Run.Type, workflows: Workflows): Ordered => {
  const { app, check_suite: suite, id, name: context, started_at: startedAt } = run
  const workflow = suite === null ? undefined : workflows.get(suite.id)
  const appId = app?.id ?? null
  const origin =
    workflow === undefined
      ? [suite === null ? `run ${id}` : `suite ${suite.id}`]
      : [workflow.workflow_id, bounded(workflow.event, longestEvent)]
  return {
    id,
    startedAt,
    round: 0,
    check: {
      key: `run:${textOfParts([appId, ...origin, context])}`,
      run: String(id),
      name: checkName(context),
      identity: {
        context,
        app: appId,
        source: textOfParts(["run", appId, workflow?.workflow_id ?? null, context]),
        trigger: workflow === undefined ? null : bounded(workflow.event, longestEvent)
      },
      state: run.status === "completed" ? (conclusions.get(run.conclusion) ?? "failing") : "pending",
      optional: false,
      startedAt,
      endedAt: run.completed_at,
      url: run.html_url
    }
  }
}

const longestEvent = 64

const states: ReadonlyMap<string, CheckState> = new Map([
  ["success", "passing"],
  ["pending", "pending"]
])

/** The combined status has the newest of each context. It tells the app of a status by its picture alone. */
const statusOf = (status: typeof Status.Type): Ordered => {
  const { avatar_url: picture, context, created_at: startedAt, id } = status
  const [, appId] = /\/in\/(\d{1,15})(?:$|\?)/.exec(bounded(picture ?? "", longestPicture)) ?? []
  return {
    id,
    startedAt,
    round: 0,
    check: {
      key: `status:${textOfParts([context])}`,
      run: String(id),
      name: checkName(context),
      identity: {
        context,
        app: appId === undefined ? null : Number(appId),
        source: textOfParts(["status", context]),
        trigger: null
      },
      state: states.get(status.state) ?? "failing",
      optional: false,
      startedAt,
      endedAt: status.state === "pending" ? null : status.updated_at,
      url: status.target_url
    }
  }
}

const longestPicture = 500
