import { field } from "@reins/base/domain/Field"
import {
  ConnectionId,
  DelegationId,
  LeaseId,
  ProjectId,
  ProjectVersionId,
  SessionId,
  TurnId,
  WorkspaceId
} from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { OptionChoices } from "@reins/machine/harness/AgentReport"
import { PermissionPolicy } from "@reins/machine/harness/Permissions"
import { Schema } from "effect"
import { Budget } from "../../budgets/Budget.js"

export const SessionLifecycle = Schema.Literal("open", "archived", "closed").annotations({
  description: "An `archived` session takes no work until it is opened again; a `closed` one never does."
})
export type SessionLifecycle = typeof SessionLifecycle.Type

/** The moves of the lifecycle, which `SessionStore` makes. */
export const sessionStates = /* @__PURE__ */ StateMachine.make<SessionLifecycle>("session", {
  open: ["archived", "closed"],
  archived: ["open", "closed"],
  closed: []
})

export const SessionActivity = Schema.Literal("idle", "queued", "running", "requires_action", "attention").annotations({
  description:
    "With `attention` an interrupted turn waits for its acknowledgement, with `requires_action` an agent waits for an answer."
})
export type SessionActivity = typeof SessionActivity.Type

export const LeaseState = Schema.Literal("none", "allocating", "ready", "quiescing", "released", "lost").annotations({
  description: "A `quiescing` lease is being released; a `lost` one ended without a release."
})
export type LeaseState = typeof LeaseState.Type

/** The moves of one lease, which `Leases` makes. After its end a session begins the next lease from `none`. */
export const leaseStates = /* @__PURE__ */ StateMachine.make<LeaseState>("executor lease", {
  none: ["allocating"],
  allocating: ["ready", "lost"],
  ready: ["quiescing", "lost"],
  quiescing: ["released", "lost"],
  released: [],
  lost: []
})

/** True for a lease that has begun and not ended. */
export const isLeaseHeld = (state: LeaseState): boolean => state !== "none" && !leaseStates.isTerminal(state)

export const WorkspaceState = Schema.Literal("none", "preparing", "ready", "removed").annotations({
  description:
    "`none` until the workspace is made, ahead of the first turn or by a turn, an activation or an upload; `removed` after the session was closed."
})
export type WorkspaceState = typeof WorkspaceState.Type

/** The moves of a workspace, which `SessionStore` makes. A workspace that a backup did not hold is `none` again after the restore. */
export const workspaceStates = /* @__PURE__ */ StateMachine.make<WorkspaceState>("workspace", {
  none: ["preparing", "removed"],
  preparing: ["ready", "none", "removed"],
  ready: ["none", "removed"],
  removed: []
})

export const UsageSource = Schema.Literal("gateway", "agent", "both").annotations({
  description:
    "`gateway`: the figures are those of the gateway's answers to the model calls. `agent`: the agent's own, because its calls do not pass through the service. `both`: a sum of turns of either kind."
})
export type UsageSource = typeof UsageSource.Type

const figure = (what: string) =>
  field(Schema.NullOr(Schema.Int), `${what} Null when nobody said: unknown is not nothing.`)

export const Usage = Schema.Struct({
  input_tokens: figure("Tokens that the models read, those from a cache among them."),
  output_tokens: figure("Tokens that the models wrote, those of reasoning among them."),
  cached_tokens: figure("The part of the input that came from a cache."),
  reasoning_tokens: figure("The part of the output that was reasoning."),
  cost_usd: field(
    Schema.NullOr(Schema.Number),
    "The cost in US dollars, by the prices of the connection. Null without a price of the models; the agent's own figure where the source is `agent`."
  ),
  source: field(Schema.NullOr(UsageSource), "Where the figures come from; null when there are none."),
  calls: field(Schema.Int, "The model calls that passed through the service, the refused ones among them."),
  reported_calls: field(Schema.Int, "Those of them whose tokens the gateway said: the tokens are summed over these."),
  priced_calls: field(Schema.Int, "Those of them with a price: `cost_usd` is summed over these.")
}).annotations({
  identifier: "Usage",
  description:
    "Tokens and cost of model calls. Those of a session are the sum over its turns that have ended, however they ended."
})
export type Usage = typeof Usage.Type

/** The usage before the first report. */
export const noUsage: Usage = {
  input_tokens: null,
  output_tokens: null,
  cached_tokens: null,
  reasoning_tokens: null,
  cost_usd: null,
  source: null,
  calls: 0,
  reported_calls: 0,
  priced_calls: 0
}

/** The sum of two figures. It is null only when both are. */
export const addFigures = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : a + b

/** US dollars to the billionth, because sums of fractions drift. */
export const toNanos = (usd: number): number => Math.round(usd * 1e9) / 1e9

/** The sum of two costs in US dollars. It is null only when both are. */
export const addCosts = (a: number | null, b: number | null): number | null => {
  const sum = addFigures(a, b)
  return sum === null ? null : toNanos(sum)
}

const addSources = (a: UsageSource | null, b: UsageSource | null): UsageSource | null =>
  a === null || a === b ? b : b === null ? a : "both"

/** The sum. A figure of it is null only when both are. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input_tokens: addFigures(a.input_tokens, b.input_tokens),
  output_tokens: addFigures(a.output_tokens, b.output_tokens),
  cached_tokens: addFigures(a.cached_tokens, b.cached_tokens),
  reasoning_tokens: addFigures(a.reasoning_tokens, b.reasoning_tokens),
  cost_usd: addCosts(a.cost_usd, b.cost_usd),
  source: addSources(a.source, b.source),
  calls: a.calls + b.calls,
  reported_calls: a.reported_calls + b.reported_calls,
  priced_calls: a.priced_calls + b.priced_calls
})

/** `noUsage` as it is stored, which is how most sessions and turns are made and read. */
export const noUsageStored = JSON.stringify(noUsage)

/** A usage as it was stored, by this release or an earlier one that knew fewer fields. */
export const usageOf = (stored: string): Usage => {
  if (stored === noUsageStored) return noUsage
  const usage: Partial<Usage> = JSON.parse(stored)
  const isKnown = Object.values(usage).some((figure) => figure !== null)
  return { ...noUsage, source: isKnown ? "agent" : null, ...usage }
}

export const Labels = Schema.Record({ key: Schema.String, value: Schema.String })
  .pipe(
    Schema.filter((labels) => Object.keys(labels).length <= 50, {
      message: () => "Input should have at most 50 labels"
    })
  )
  .annotations({ description: "Names and values that clients give a session; at most 50." })

export const LinkKind = Schema.Literal("harness_switch").annotations({
  description: "The reason for which a session goes on from another one."
})
export type LinkKind = typeof LinkKind.Type

export const SessionAction = Schema.Literal(
  "send_message",
  "activate_executor",
  "archive",
  "capture",
  "close",
  "delegate",
  "delete",
  "release_executor",
  "switch_harness",
  "unarchive",
  "update",
  "upload_file"
).annotations({ description: "A command on a session that its caller can give." })
export type SessionAction = typeof SessionAction.Type

export const Session = Schema.Struct({
  id: field(SessionId, "The id of the session."),
  workspace_id: field(WorkspaceId, "The workspace that owns the session."),
  project_id: field(Schema.NullOr(ProjectId), "The project that it was created from; null for none."),
  project_version_id: field(
    Schema.NullOr(ProjectVersionId),
    "The version of the project that it is pinned to; null for none."
  ),
  title: field(Schema.NullOr(Schema.String), "Its title; null for none."),
  labels: field(Labels, "Names and values that clients gave it."),
  harness: field(
    Schema.Struct({
      provider_id: field(Schema.String, "The provider, as `GET /api/harnesses` lists it."),
      model: field(
        Schema.NullOr(Schema.String),
        "The model of the next turn; null for the preference of the connection."
      ),
      connection_id: field(
        Schema.NullOr(ConnectionId),
        "The connection that was chosen for it; null for the newest fitting one of the workspace."
      ),
      options: field(
        Schema.NullOr(OptionChoices),
        "The options of the agent that were chosen for it; null for the agent's own choices."
      )
    }),
    "The provider that runs it."
  ),
  executor: field(
    Schema.Struct({
      backend: field(Schema.String, "The executor backend."),
      state: field(LeaseState, "The state of its newest lease."),
      lease_id: field(Schema.NullOr(LeaseId), "The newest lease; null before the first.")
    }),
    "The executor that runs its agent."
  ),
  base: field(
    Schema.Struct({
      repository: field(Schema.NullOr(Schema.String), "The URL of the repository; null for an empty start."),
      ref: field(Schema.NullOr(Schema.String), "The branch or tag that was asked for; null for the default branch."),
      commit: field(Schema.NullOr(Schema.String), "The commit; null until the workspace is made."),
      connection_id: field(
        Schema.NullOr(ConnectionId),
        "The connection that git uses for the repository: the one that was named, else the one that the service has chosen by the host. Null for none."
      ),
      sparse: field(
        Schema.NullOr(Schema.Array(Schema.String)),
        "The folders of the repository that the workspace holds; null for the whole tree."
      )
    }),
    "What the files started from."
  ),
  workspace: field(
    Schema.Struct({ state: field(WorkspaceState, "The state of the files.") }),
    "The files that the agent works in."
  ),
  permissions: field(
    Schema.NullOr(PermissionPolicy),
    "What its agent may do by itself; null for what the provider is set up for."
  ),
  auto_capture: field(Schema.Boolean, "True when a changeset is captured at the end of every succeeded turn."),
  lifecycle: field(SessionLifecycle, "Tells if the session takes work."),
  activity: field(SessionActivity, "What it is doing; follows from its turns."),
  active_turn_id: field(Schema.NullOr(TurnId), "The turn that has left the queue and has not ended; null for none."),
  linked_from_session_id: field(
    Schema.NullOr(SessionId),
    "The session that this one goes on from; null for a session of its own."
  ),
  link_kind: field(Schema.NullOr(LinkKind), "Why it goes on from another one; null for a session of its own."),
  parent_delegation_id: field(
    Schema.NullOr(DelegationId),
    "The delegation that a child session works for; null for every other session."
  ),
  usage: field(Usage, "What its turns have used."),
  budget: field(
    Schema.NullOr(Budget),
    "What its model calls may spend, with those of the sessions that work for it or go on from it; null for no limit."
  ),
  event_watermark: field(Schema.Int, "The `seq` of the newest event."),
  version: field(
    Schema.Int,
    "Grows by one with each change of the session itself, for `expected_version` and `If-Match`."
  ),
  created_at: field(Timestamp, "The time at which the session was made."),
  updated_at: field(Timestamp, "The time of its last change."),
  archived_at: field(Schema.NullOr(Timestamp), "The time at which it was archived; null while it is not."),
  closed_at: field(Schema.NullOr(Timestamp), "The time at which it was closed; null while it is not."),
  actions: field(
    Schema.Array(SessionAction),
    "What the caller can do with the session now: its state, the role and the scope of the credentials allow it. `send_message` is a message that starts a turn (a note needs an open session only), `release_executor` is a release without `force`; the others are named as their endpoints. Empty for credentials that may only read. A connection that was revoked meanwhile, or a limit of delegations, can still refuse."
  )
}).annotations({ identifier: "Session", description: "A conversation and a workspace of files, run by one provider." })
export type Session = typeof Session.Type
