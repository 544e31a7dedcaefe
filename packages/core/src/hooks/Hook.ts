import { field } from "@reins/base/domain/Field"
import { ConnectionId, HookId, HookReceiptId, WorkspaceId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { hookOccasions } from "@reins/machine/forge/Forge"
import { Schema } from "effect"

export const HookKind = Schema.Literal("standard", "github", "gitlab", "gitea", "token").annotations({
  description:
    "What proves a call. `standard`: the signature of Standard Webhooks. `github`: `X-Hub-Signature-256`. `gitlab`: the signature of GitLab 19 and newer, or `X-Gitlab-Token`. `gitea`: the signature of Gitea or Forgejo. `token`: the secret as `Authorization: Bearer`."
})
export type HookKind = typeof HookKind.Type

export const HookOccasions = Schema.Literal(...hookOccasions).annotations({
  description: "`checks`: the results of checks, pipelines and commit statuses."
})

export const HookState = Schema.Literal("enabled", "disabled").annotations({
  description: "Calls of a disabled hook are answered as if it were not there."
})
export type HookState = typeof HookState.Type

export const HookLabel = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

export const HookRegistrationState = Schema.Literal("pending", "registered", "failed", "removing").annotations({
  description:
    "`pending`: the forge is being asked, also to take a new secret. `removing`: the forge is being asked to forget it."
})

export const HookRegistration = Schema.Struct({
  connection_id: field(ConnectionId, "The connection whose token asks the forge."),
  repository: field(Schema.String, "The URL of the repository."),
  occasions: field(Schema.Array(HookOccasions), "The occasions on which the forge calls."),
  state: field(HookRegistrationState, "Where it stands."),
  reason: field(
    Schema.NullOr(Schema.String),
    "Why the forge did not do it: `auth_required`, `not_found`, `rejected`, `rate_limited` or `remote_unavailable`; null otherwise."
  ),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}).annotations({ identifier: "HookRegistration", description: "A hook on its forge, as Reins has made it there." })
export type HookRegistration = typeof HookRegistration.Type

export const Hook = Schema.Struct({
  id: field(HookId, "The id of the hook."),
  workspace_id: field(WorkspaceId, "The workspace whose automations and merge requests it rings."),
  kind: field(HookKind, "What proves a call."),
  label: field(HookLabel, "What it is for, in your words."),
  state: field(HookState, "Calls of a disabled hook are answered as if it were not there."),
  path: field(Schema.String, "The path that the world calls with POST, below the address of this service."),
  secret_overlaps_until: field(
    Schema.NullOr(Timestamp),
    "Until then the secret before the last rotation is good too; null when it is not."
  ),
  registration: field(
    Schema.NullOr(HookRegistration),
    "The hook on the forge, if Reins was asked to make it there; null otherwise."
  ),
  last_received_at: field(Schema.NullOr(Timestamp), "The time of its newest receipt; null for none in 7 days."),
  created_at: field(Timestamp, "The time at which it was made."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "Hook",
  description: "An address that the world calls, with a secret that proves a call."
})
export type Hook = typeof Hook.Type

export const HookWithSecret = Schema.Struct({
  ...Hook.fields,
  secret: field(Schema.String, "The secret that the caller signs with, as `whsec_...`. It is shown this once.")
}).annotations({ identifier: "HookWithSecret", description: "A hook with its new secret." })
export type HookWithSecret = typeof HookWithSecret.Type

export const HookOutcome = Schema.Literal("accepted", "ignored", "dropped", "duplicate", "unread").annotations({
  description:
    "`accepted`: an automation took it, at once or once there is room, or it is about an open merge request, which Reins then looks at. `ignored`: neither. `dropped`: automations wanted it, and none begins a run of it. `duplicate`: a body with the same signature came a short time before under another id, so nothing came of this one. `unread`: its body could not be read, so nothing came of it."
})
export type HookOutcome = typeof HookOutcome.Type

/** The reasons for which the body of a call is not read. */
export type UnreadReason = "cut_off" | "no_json" | "no_place" | "too_large" | "too_many" | "too_slow"

/** The parts of a receipt besides its runs. */
export interface Told {
  readonly outcome: HookOutcome
  /** True when a secret proved the call. */
  readonly proven: boolean
  readonly queued: number
  readonly dropped: number
  readonly reason: string | null
  readonly reason_message: string | null
}

const told = {
  queued: field(
    Schema.NullOr(Schema.Int),
    "Those of its runs that wait for the end of the run before; null where that is not known."
  ),
  dropped: field(
    Schema.NullOr(Schema.Int),
    "Those of its runs that were dropped because of `overlap`; null where that is not known."
  ),
  reason: field(
    Schema.NullOr(Schema.String),
    "Why a run was dropped: `overlap`, `coalesced` or `queue_full`. Why the body was not read: `no_json`, `too_large`, `cut_off`, `too_slow`, `no_place` or `too_many`. Null otherwise."
  ),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  )
}

export const HookReceipt = Schema.Struct({
  id: field(HookReceiptId, "The id of the receipt."),
  hook_id: field(HookId, "The hook that was called."),
  delivery_id: field(Schema.String, "The id that the caller gave to the delivery; a digest where it gave none."),
  event: field(Schema.NullOr(Schema.String), "What the caller says it is, as `push`; null where it does not say."),
  outcome: field(HookOutcome, "What became of it."),
  proven: field(Schema.Boolean, "False for a call that came to the address, and whose signature could not be checked."),
  runs: field(Schema.Int, "The runs that it has made, those that were skipped among them."),
  ...told,
  size: field(Schema.Int, "The bytes of the body."),
  replayable: field(Schema.Boolean, "True while its body is kept. Bodies above 64 KiB are not."),
  created_at: field(Timestamp, "The time at which it came.")
}).annotations({ identifier: "HookReceipt", description: "A call of a hook." })
export type HookReceipt = typeof HookReceipt.Type

/** The answer to a call of a hook. */
export interface HookAnswer {
  readonly receipt_id: HookReceiptId
  readonly outcome: HookOutcome
  /** Its outcome. Absent in the answer to a duplicate. */
  readonly runs?: number
  readonly queued?: number
  readonly dropped?: number
  readonly reason?: string | null
  readonly reason_message?: string | null
}
