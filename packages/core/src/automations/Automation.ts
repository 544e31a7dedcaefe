import { optional } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import {
  AccountId,
  AutomationId,
  ConnectionId,
  HookId,
  ProjectId,
  SessionId,
  WorkspaceId
} from "@reins/base/domain/Ids"
import { installed } from "@reins/base/domain/Installed"
import { BranchInput } from "@reins/base/domain/RefName"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { GivenTimestamp, Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { BudgetInput } from "../budgets/Budget.js"
import { CareInput } from "../projects/CarePolicy.js"
import { SessionInput } from "../sessions/creation/SessionsApi.js"
import { AutomationRun } from "./AutomationRun.js"

export const ScheduleTrigger = Schema.Struct({
  kind: field(Schema.Literal("schedule"), "Tells the kinds of triggers apart."),
  expression: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)),
    "Minute, hour, day, month and weekday, as in `30 2 * * 1-5`. A day and a weekday together mean either, and both where one begins with `*`, as in cron. Two times are at least 5 minutes apart."
  ),
  timezone: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)),
    "The IANA time zone, as in `Europe/Berlin`, or `UTC`. No offsets and abbreviations, which know no summer."
  ),
  jitter_seconds: field(
    optional(Schema.Int.pipe(Schema.between(0, 600))),
    "Spreads automations with the same times: each begins up to so many seconds later, always equally much; 60 when absent. It is never more than a tenth of the time to the next occurrence."
  )
}).annotations({ identifier: "ScheduleTrigger", description: "Times by the clock of a zone." })
export type ScheduleTrigger = typeof ScheduleTrigger.Type

export const OnceTrigger = Schema.Struct({
  kind: field(Schema.Literal("once"), "Tells the kinds of triggers apart."),
  at: field(GivenTimestamp, "The one time, in the future.")
}).annotations({ identifier: "OnceTrigger", description: "One time." })

export const Pointer = Schema.String.pipe(Schema.maxLength(500), Schema.pattern(/^(?:\/(?:[^~/]|~[01])*)*$/))

const Scalar = Schema.Union(Schema.String.pipe(Schema.maxLength(1000)), Schema.Number, Schema.Boolean, Schema.Null)

export const HookCondition = Schema.Struct({
  pointer: field(
    Pointer,
    "The JSON pointer (RFC 6901) of a value of the body, as in `/ref`. In a list it means any element, as in `/issue/labels/*/name`; a number in the place of `*` means the same."
  ),
  is: field(optional(Scalar), "The value is this one, or a list that has it."),
  in: field(optional(Schema.Array(Scalar).pipe(Schema.maxItems(50))), "The value is one of these."),
  starts_with: field(
    optional(Schema.String.pipe(Schema.maxLength(1000))),
    "The value is a text that begins with this one."
  ),
  exists: field(optional(Schema.Boolean), "True: there is a value. False: there is none."),
  not: field(optional(Schema.Boolean), "True turns the condition around.")
}).annotations({
  identifier: "HookCondition",
  description:
    "A condition on the body of a hook, or on an event. All that it says has to hold, for one element where a list is on the way. A comparison with `/changes/*/current` of GitLab also asks that it did not hold for `previous`. Nothing in it is a pattern or is run."
})
export type HookCondition = typeof HookCondition.Type

export const HookTrigger = Schema.Struct({
  kind: field(Schema.Literal("hook"), "Tells the kinds of triggers apart."),
  hook_id: field(HookId, "The hook, of the same workspace."),
  events: field(
    optional(Schema.Array(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))).pipe(Schema.maxItems(20))),
    "Only calls that say they are one of these events, as `push`; all when absent."
  ),
  filter: field(
    optional(Schema.Array(HookCondition).pipe(Schema.maxItems(20))),
    "Only calls whose body meets all of these conditions; all when absent."
  ),
  pick: field(
    optional(Schema.Array(Pointer).pipe(Schema.maxItems(20))),
    "The values of the body that follow the message, as JSON pointers. `*` stands for each element of a list. The whole body when absent, nothing when empty. They are data between marks, at most 64 KiB."
  )
}).annotations({ identifier: "HookTrigger", description: "A call of a hook." })
export type HookTrigger = typeof HookTrigger.Type

export const EventTrigger = Schema.Struct({
  kind: field(Schema.Literal("event"), "Tells the kinds of triggers apart."),
  types: field(
    Schema.NonEmptyArray(installed("webhook_types")).pipe(Schema.maxItems(20)),
    "The types of events of the workspace, as `turn.failed`, or of a whole resource, as `delivery.*`."
  ),
  project_id: field(optional(ProjectId), "Only events of the sessions of this project; of all when absent."),
  label: field(
    optional(Schema.String.pipe(Schema.maxLength(1000), Schema.pattern(/^[^=]+=/))),
    "Only events of sessions that have this label, as `name=value`; of all when absent."
  ),
  filter: field(
    optional(Schema.Array(HookCondition).pipe(Schema.maxItems(20))),
    "Only events that meet all of these conditions, as one on `/payload/turn/reason`; all when absent."
  ),
  pick: field(
    optional(Schema.Array(Pointer).pipe(Schema.maxItems(20))),
    "The values of the event that follow the message, as JSON pointers. The whole event when absent, nothing when empty. They are data between marks, at most 64 KiB."
  )
}).annotations({
  identifier: "EventTrigger",
  description:
    "An event of the workspace. The runs of an automation do not make it due again, and a chain of automations ends after three runs."
})
export type EventTrigger = typeof EventTrigger.Type

/** A trigger that the clock decides. */
export type TimedTrigger = ScheduleTrigger | typeof OnceTrigger.Type

export const AutomationTrigger = Schema.Union(ScheduleTrigger, OnceTrigger, HookTrigger, EventTrigger).annotations({
  identifier: "AutomationTrigger",
  description: "What makes an automation due."
})
export type AutomationTrigger = typeof AutomationTrigger.Type

const Instructions = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100_000))

const { connection_id, executor, harness, labels, permissions, repository, title } = SessionInput.fields

export const NewSessionTarget = Schema.Struct({
  kind: field(Schema.Literal("new_session"), "Tells the kinds of targets apart."),
  message: field(Instructions, "The message to the agent."),
  project_id: field(optional(ProjectId), "The project to start from, in the version that is the newest at each run."),
  repository,
  harness,
  executor,
  connection_id,
  title,
  labels,
  permissions
}).annotations({ identifier: "NewSessionTarget", description: "A new session for each run." })
export type NewSessionTarget = typeof NewSessionTarget.Type

export const SessionTarget = Schema.Struct({
  kind: field(Schema.Literal("session"), "Tells the kinds of targets apart."),
  session_id: field(SessionId, "The session, which is open."),
  message: field(Instructions, "The message to the agent.")
}).annotations({ identifier: "SessionTarget", description: "A message to a session that is there." })

export const AutomationTarget = Schema.Union(NewSessionTarget, SessionTarget).annotations({
  identifier: "AutomationTarget",
  description:
    "Where the work is done, and what the agent is told. It is written by a person, and nothing from outside changes it."
})
export type AutomationTarget = typeof AutomationTarget.Type

export const Overlap = Schema.Literal("skip", "queue", "parallel", "wait").annotations({
  description:
    "What happens when the run before has not ended. `skip`: no run. `queue`: one run waits, or five of a hook or of events, and later ones are part of it. `parallel`: up to `max_parallel` runs at once, each in its own new session; further ones of a hook or of events wait. `wait`: each waits, in order, up to 100."
})

export const Missed = Schema.Literal("run_once", "skip").annotations({
  description:
    "What happens with times that are older than `start_within_seconds` when the server comes back. `run_once`: the newest runs late. `skip`: none does. Either way one run tells how many were missed."
})

export const AutomationBudget = Schema.Struct({
  run: field(optional(BudgetInput), "What the model calls of one run may spend; no limit when absent."),
  total: field(
    optional(BudgetInput),
    "What the runs may spend together. When it is used up, the automation is paused. No limit when absent."
  )
}).annotations({ identifier: "AutomationBudget", description: "What an automation may spend." })
export type AutomationBudget = typeof AutomationBudget.Type

/** The texts of a commit and a merge request, and what else a run says of them. */
export const AutomationMergeRequest = Schema.Struct({
  title: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(250))),
    "Its title. When absent, that of the commit."
  ),
  description: field(
    optional(Schema.String.pipe(Schema.maxLength(50_000))),
    "Its text, at most 50,000 characters; empty when absent."
  ),
  base_branch: field(
    optional(BranchInput),
    "The branch that it is to be merged into. When absent, the branch that the session started from."
  ),
  draft: field(optional(Schema.Boolean), "True marks it as not ready for review; true when absent."),
  care: field(optional(CareInput), "How Reins cares for it until it is merged. When absent, as the project says."),
  closes: field(
    optional(Pointer),
    "The JSON pointer of the number of an issue in the body of the hook, as `/issue/number`. The description then ends with `Closes #12`, so that the forge closes the issue with the merge."
  )
}).annotations({ identifier: "AutomationMergeRequest", description: "The merge request of each run." })

export const AutomationDelivery = Schema.Struct({
  title: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))),
    "The subject of the commit. The title of the session when absent."
  ),
  connection_id: field(
    optional(ConnectionId),
    "The connection to push with. When absent, one of the project or workspace that fits the repository. A merge request needs one of the forge here, or in the project."
  ),
  merge_request: field(optional(AutomationMergeRequest), "The merge request to open; none when absent.")
}).annotations({
  identifier: "AutomationDelivery",
  description:
    "What becomes of the changes of a run that has succeeded: a branch, and a merge request of it. A run without changes delivers nothing."
})
export type AutomationDelivery = typeof AutomationDelivery.Type

/** The settings of an automation that have a default. */
export const AutomationOptions = Schema.Struct({
  overlap: field(Overlap, "What happens when the run before has not ended."),
  max_parallel: field(Schema.Int.pipe(Schema.between(2, 5)), "The most runs at once with `overlap: parallel`."),
  missed: field(Missed, "What happens with times that were missed."),
  start_within_seconds: field(
    Schema.Int.pipe(Schema.between(60, 86_400)),
    "A time counts as missed when it is older than this."
  ),
  max_minutes: field(
    Schema.NullOr(Schema.Int.pipe(Schema.between(1, 10_080))),
    "The turn of a run is cancelled after so many minutes, also while it waits for a person; null for never."
  ),
  pause_after_failures: field(
    Schema.NullOr(Schema.Int.pipe(Schema.between(1, 20))),
    "The automation is paused after so many failed runs one after another; null for never."
  ),
  budget: field(Schema.NullOr(AutomationBudget), "What its model calls may spend; null for no limit."),
  deliver: field(Schema.NullOr(AutomationDelivery), "What its runs deliver; null for nothing.")
})
export type AutomationOptions = typeof AutomationOptions.Type

/** The defaults that hold for every trigger. That of `overlap` depends on it. */
export const defaultOptions: Omit<AutomationOptions, "overlap"> = {
  max_parallel: 2,
  missed: "run_once",
  start_within_seconds: 900,
  max_minutes: 120,
  pause_after_failures: 3,
  budget: null,
  deliver: null
}

export const AutomationState = Schema.Literal("active", "paused", "done").annotations({
  description: "`done`: its one time has come."
})
export type AutomationState = typeof AutomationState.Type

/** The moves of an automation. One that is done is active again with another trigger. */
export const automationStates = /* @__PURE__ */ StateMachine.make<AutomationState>("automation", {
  active: ["paused", "done"],
  paused: ["active"],
  done: ["active"]
})

export const PauseReason = Schema.Literal(
  "by_hand",
  "failures",
  "owner_lost_access",
  "budget_exhausted",
  "session_gone",
  "project_archived",
  "project_gone",
  "hook_gone"
).annotations({
  description:
    "`owner_lost_access`: the account that it acts for may no longer start work here, or the API key that made it is no longer good."
})
export type PauseReason = typeof PauseReason.Type

export const AutomationAction = Schema.Literal("update", "delete", "pause", "resume", "start_run").annotations({
  description: "A command on an automation that its caller can give."
})
export type AutomationAction = typeof AutomationAction.Type

export const Automation = Schema.Struct({
  id: field(AutomationId, "The id of the automation."),
  workspace_id: field(WorkspaceId, "The workspace that it belongs to."),
  name: field(Schema.String, "The name that people know it by."),
  trigger: field(AutomationTrigger, "What makes it due."),
  target: field(AutomationTarget, "Where the work is done, and what the agent is told."),
  ...AutomationOptions.fields,
  state: field(AutomationState, "A paused automation starts nothing by itself."),
  pause_reason: field(Schema.NullOr(PauseReason), "Why it is paused; null otherwise."),
  pause_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null while it is not paused."
  ),
  acts_for: field(
    AccountId,
    "The account whose rights its runs have: whoever made it, or changed or resumed it last. Each run asks for them anew."
  ),
  next_due_at: field(Schema.NullOr(Timestamp), "The next time by its trigger; null for none."),
  next_run_at: field(Schema.NullOr(Timestamp), "The time at which that run begins, after its jitter; null for none."),
  failures: field(Schema.Int, "The failed runs since the last success, without those by hand."),
  spent_tokens: field(Schema.Int, "The tokens that its ended runs have spent since it has a total budget."),
  spent_cost_usd: field(
    Schema.NullOr(Schema.Number),
    "The US dollars of these; null while no call had a price: unknown is not nothing."
  ),
  last_run: field(Schema.NullOr(AutomationRun), "Its newest run, of whatever end; null before the first."),
  version: field(Schema.Int, "Grows by one with each change of a person, and when it is paused."),
  actions: field(
    Schema.Array(AutomationAction),
    "What the caller can do with it now. Members change the automations that act for them, and owners all."
  ),
  created_at: field(Timestamp, "The time at which it was made."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({ identifier: "Automation", description: "Work that begins by itself." })
export type Automation = typeof Automation.Type

export const PlannedTime = Schema.Struct({
  at: field(Timestamp, "The instant at which it is due."),
  local: field(
    Schema.NullOr(Schema.String),
    "The wall clock of the zone with its offset, as in `2026-03-29T03:00+02:00`; null without a zone."
  ),
  note: field(
    Schema.NullOr(Schema.Literal("moved_by_clock_change", "repeated")),
    "`moved_by_clock_change`: the clock skips the time on this day, and the run begins at the end of the gap. `repeated`: the clock shows the time twice, and this is the second. Null on other days."
  )
}).annotations({ identifier: "PlannedTime", description: "A time at which a trigger is due." })
export type PlannedTime = typeof PlannedTime.Type
