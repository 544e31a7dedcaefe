import { HttpApiGroup } from "@effect/platform"
import {
  extension,
  idPath,
  optional,
  patch,
  post,
  read,
  remove,
  SecretAnswer,
  withStatus
} from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { HookReceiptId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { integer, pageFields } from "@reins/base/domain/Query"
import { GivenTimestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import {
  Automation,
  AutomationBudget,
  AutomationDelivery,
  AutomationOptions,
  AutomationState,
  AutomationTarget,
  AutomationTrigger,
  HookTrigger,
  Missed,
  Overlap,
  PlannedTime,
  Pointer
} from "./Automation.js"
import { AutomationRun, AutomationRunState, FinishedAutomationRun } from "./AutomationRun.js"

const absent = { exact: true } as const

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

const valueOf = AutomationOptions.fields

const options = {
  overlap: field(
    optional(Overlap),
    "What happens when the run before has not ended; when absent `wait` for a hook and for events, and `skip` for times."
  ),
  max_parallel: field(
    optional(Schema.Int.pipe(Schema.between(2, 5))),
    "The most runs at once with `overlap: parallel`; 2 when absent."
  ),
  missed: field(optional(Missed), "What happens with times that were missed; `run_once` when absent."),
  start_within_seconds: field(
    optional(Schema.Int.pipe(Schema.between(60, 86_400))),
    "A time counts as missed when it is older than this; 900 when absent."
  ),
  max_minutes: field(
    Schema.optionalWith(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 10_080))), absent),
    "The turn of a run is cancelled after so many minutes, also while it waits for a person; null for never, 120 when absent."
  ),
  pause_after_failures: field(
    Schema.optionalWith(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 20))), absent),
    "The automation is paused after so many failed runs one after another; null for never, 3 when absent."
  ),
  budget: field(
    Schema.optionalWith(Schema.NullOr(AutomationBudget), absent),
    "What its model calls may spend; no limit when absent or null."
  ),
  deliver: field(
    Schema.optionalWith(Schema.NullOr(AutomationDelivery), absent),
    "What its runs deliver; nothing when absent or null."
  )
} satisfies Record<keyof typeof valueOf, unknown>

export const AutomationInput = Schema.Struct({
  name: field(Name, "Its name, at most 200 characters."),
  trigger: field(AutomationTrigger, "What makes it due."),
  target: field(AutomationTarget, "Where the work is done, and what the agent is told."),
  ...options
}).annotations({ identifier: "AutomationInput", description: "An automation to be." })
export type AutomationInput = typeof AutomationInput.Type

export const AutomationPatch = Schema.Struct({
  name: field(optional(Name), "The new name of the automation, at most 200 characters."),
  trigger: field(
    optional(AutomationTrigger),
    "What makes it due from now on. What was due before is void, and the count of failures begins anew."
  ),
  target: field(optional(AutomationTarget), "Where the work is done from the next run on, and what the agent is told."),
  ...options,
  expected_version: field(
    optional(Schema.Int),
    "The version that the change is meant for; another one is answered with `version_conflict`."
  )
}).annotations({
  identifier: "AutomationPatch",
  description: "What is to change. Absent fields stay as they are. From then on the automation acts for the caller."
})
export type AutomationPatch = typeof AutomationPatch.Type

export const PauseInput = Schema.Struct({
  reason: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))),
    "Why, in your words, for whoever looks at it later."
  )
}).annotations({ identifier: "PauseInput", description: "Why an automation is paused." })
export type PauseInput = typeof PauseInput.Type

export const AutomationPreview = Schema.Struct({
  times: field(Schema.Array(PlannedTime), "The next times, in their order, before any jitter.")
}).annotations({ identifier: "AutomationPreview", description: "The next times of a schedule." })
export type AutomationPreview = typeof AutomationPreview.Type

const PreviewQuery = Schema.Struct({
  expression: field(Schema.String, "Minute, hour, day, month and weekday, as in `30 2 * * 1-5`."),
  timezone: field(Schema.String, "The IANA time zone, as in `Europe/Berlin`."),
  count: field(
    Schema.optionalWith(integer({ min: 1, max: 50 }), absent),
    "How many times at most, 1 to 50; 10 when absent."
  ),
  from: field(Schema.optionalWith(GivenTimestamp, absent), "Only times after this one; after now when absent.")
})
export type PreviewQuery = typeof PreviewQuery.Type

const { events, filter, pick } = HookTrigger.fields

export const FilterPreviewInput = Schema.Struct({
  events,
  filter,
  pick,
  closes: field(optional(Pointer), "The JSON pointer of the number of an issue, as `deliver.merge_request` has it."),
  receipt_id: field(
    optional(HookReceiptId),
    "A delivery that a hook of the workspace got; for owners with the scope `admin`. Absent for a sample."
  ),
  event: field(optional(Schema.String.pipe(Schema.maxLength(100))), "The event of the sample, as its forge names it."),
  body: field(
    Schema.optionalWith(Schema.Unknown, absent),
    "The sample: the body of a call, or an event of the workspace. Absent for a delivery."
  )
}).annotations({
  identifier: "FilterPreviewInput",
  description: "What an automation looks at, and a delivery or a sample to try it on."
})
export type FilterPreviewInput = typeof FilterPreviewInput.Type

export const FilterPreview = Schema.Struct({
  matches: field(Schema.Boolean, "True when a run would begin: the event is wanted, and all conditions hold."),
  event: field(Schema.NullOr(Schema.String), "The event of what was tried; null when it names none."),
  event_matches: field(Schema.Boolean, "True when the event is wanted."),
  conditions: field(
    Schema.Array(
      Schema.Struct({
        pointer: field(Schema.String, "The pointer of the condition."),
        holds: field(Schema.Boolean, "True when the condition holds."),
        found: field(
          Schema.NullOr(Schema.String),
          "The value at the pointer as JSON, or the list of values where the pointer leads through a list, cut at 200 characters; null for none."
        )
      })
    ),
    "The conditions, in their order."
  ),
  data: field(
    Schema.NullOr(Schema.String),
    "The data that the agent gets between marks below the message; null for nothing. A longer message leaves less room for it."
  ),
  closes: field(Schema.NullOr(Schema.Int), "The number of the issue that the merge request closes; null for none.")
}).annotations({ identifier: "FilterPreview", description: "What a filter makes of a delivery or a sample." })
export type FilterPreview = typeof FilterPreview.Type

const workspace = idPath("workspace_id")
const automation = idPath("automation_id")
const run = idPath("automation_run_id")

export class AutomationsApi extends HttpApiGroup.make("automations")
  .add(
    read("list", "/api/workspaces/:workspace_id/automations", "List the automations of a workspace, newest first")
      .setPath(workspace)
      .setUrlParams(
        Schema.Struct({
          ...pageFields,
          state: Schema.optionalWith(AutomationState, absent),
          project_id: Schema.optionalWith(Schema.String, absent)
        })
      )
      .addSuccess(Page("AutomationList", Automation))
      .annotateContext(extension)
  )
  .add(
    post("create", "/api/workspaces/:workspace_id/automations", "Make an automation")
      .setPath(workspace)
      .setPayload(AutomationInput)
      .addSuccess(withStatus(Automation, 201))
      .annotateContext(extension)
  )
  .add(
    read("getPreview", "/api/workspaces/:workspace_id/automation-previews", "Look at the next times of a schedule")
      .setPath(workspace)
      .setUrlParams(PreviewQuery)
      .addSuccess(AutomationPreview)
      .annotateContext(extension)
  )
  .add(
    post(
      "previewFilter",
      "/api/workspaces/:workspace_id/automation-previews",
      "Try a filter on a delivery of a hook, or on a sample",
      "read"
    )
      .setPath(workspace)
      .setPayload(FilterPreviewInput)
      .addSuccess(FilterPreview)
      .annotate(SecretAnswer, true)
      .annotateContext(extension)
  )
  .add(
    read("get", "/api/automations/:automation_id", "Read an automation")
      .setPath(automation)
      .addSuccess(Automation)
      .annotateContext(extension)
  )
  .add(
    patch("update", "/api/automations/:automation_id", "Change an automation")
      .setPath(automation)
      .setPayload(AutomationPatch)
      .addSuccess(Automation)
      .annotateContext(extension)
  )
  .add(
    remove("delete", "/api/automations/:automation_id", "Delete an automation; its runs stay readable for 90 days")
      .setPath(automation)
      .addSuccess(Automation)
      .annotateContext(extension)
  )
  .add(
    post("pause", "/api/automations/:automation_id/pauses", "Pause an automation")
      .setPath(automation)
      .setPayload(PauseInput)
      .addSuccess(Automation)
      .annotateContext(extension)
  )
  .add(
    post(
      "resume",
      "/api/automations/:automation_id/resumptions",
      "Resume an automation, which acts for the caller from then on"
    )
      .setPath(automation)
      .addSuccess(Automation)
      .annotateContext(extension)
  )
  .add(
    read("listRuns", "/api/automations/:automation_id/runs", "List the runs of an automation, newest first")
      .setPath(automation)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(AutomationRunState, absent) }))
      .addSuccess(Page("AutomationRunList", AutomationRun))
      .annotateContext(extension)
  )
  .add(
    post("startRun", "/api/automations/:automation_id/runs", "Start a run now, with the rights of the caller")
      .setPath(automation)
      .addSuccess(withStatus(AutomationRun, 202))
      .annotateContext(extension)
  )
  .add(
    read("getRun", "/api/automation-runs/:automation_run_id", "Read a run, with its usage and what came of it")
      .setPath(run)
      .addSuccess(FinishedAutomationRun)
      .annotateContext(extension)
  )
  .add(
    post("cancelRun", "/api/automation-runs/:automation_run_id/cancellations", "Cancel a run with its turn")
      .setPath(run)
      .addSuccess(withStatus(AutomationRun, 202))
      .annotateContext(extension)
  )
  .add(
    post(
      "retryRun",
      "/api/automation-runs/:automation_run_id/retries",
      "Make a run that has ended again, with the rights of the caller"
    )
      .setPath(run)
      .addSuccess(withStatus(AutomationRun, 202))
      .annotateContext(extension)
  ) {}
