type Text = string | null

/**
 * The details of each error code, for programs: ids, numbers and closed literals, never a secret. The errors of other codes have no details.
 */
export interface ErrorDetails {
  readonly forbidden: { readonly role: string | null; readonly workspace_id: string }
  readonly insufficient_scope: { readonly required: string; readonly scopes: ReadonlyArray<string> }
  /** The path of the file that is missing, or the state of the working tree that is not ready. */
  readonly not_found: { readonly path: string } | { readonly workspace: string }
  readonly method_not_allowed: { readonly allow: ReadonlyArray<string> }
  readonly result_not_ready: { readonly state: string }
  /** The resource that cannot move, its state, and the condition that it fails. */
  readonly invalid_transition: {
    readonly resource: string
    readonly from?: string
    readonly to?: string
    readonly allowed?: ReadonlyArray<string>
    readonly archived_at?: string
    readonly child_session_id?: string
    readonly transport?: string
    readonly answer?: Text
    readonly backend?: string
    readonly requested?: string
  }
  readonly turn_active: { readonly turn_id: Text; readonly queued_turns: number }
  readonly version_conflict:
    | { readonly version: number; readonly expected_version: number | undefined }
    | { readonly path: string; readonly expected_digest: Text; readonly actual_digest: Text }
  readonly already_exists: { readonly slug: string }
  readonly connection_in_use: { readonly turn_id: string }
  readonly connection_required:
    | { readonly connection_id: string }
    | { readonly forge: string }
    | { readonly kind: string | undefined; readonly provider_id?: string }
  readonly model_required: { readonly provider_id: string; readonly connection_id: Text }
  /** `calls_unseen`: the calls do not pass through the service. `no_price`: the connection has no price for the model. */
  readonly budget_unenforceable: {
    readonly why: string
    readonly provider_id: string
    readonly connection_id: Text
    readonly model: Text
  }
  readonly connection_revoked: { readonly connection_id: string }
  readonly credential_invalid: { readonly connection_id: string; readonly status?: number | null }
  readonly provider_disabled: { readonly provider_id: string }
  readonly already_claimed: { readonly holder: string | null; readonly until: string | null }
  readonly unsupported_capability:
    | {
        readonly provider_id: string
        readonly capability: string
        readonly value: string
        readonly supported_by: ReadonlyArray<string>
      }
    | { readonly forge: string; readonly method: string; readonly supported: ReadonlyArray<string> }
    | { readonly forge: string; readonly action: string }
  readonly executor_unavailable:
    | { readonly backend: string }
    | { readonly kind: string }
    | { readonly reason: string; readonly path?: string }
    | { readonly workspace: string }
  readonly context_unavailable: { readonly session_id: string; readonly provider_id: string }
  readonly harness_switch_required: { readonly provider_id: string; readonly requested: string }
  /** The state of an unsealed changeset. Or the content of a workspace beside the expected one, or both digests of an approval. */
  readonly stale_subject:
    | { readonly state: string }
    | { readonly digest: string | null; readonly seen: string }
    | { readonly generation: string; readonly expected_generation: string }
  readonly remote_head_changed: { readonly head_sha: Text; readonly observed_at: Text }
  readonly delivery_unresolved: { readonly state: string; readonly reason: Text }
  readonly conditions_unmet: {
    readonly waiting_for: ReadonlyArray<{
      readonly kind: string
      readonly names: ReadonlyArray<string>
      readonly message: string
    }>
  }
  readonly result_already_set: { readonly result_id: string }
  readonly delegation_limit: { readonly limit: number } | { readonly depth: number }
  readonly invalid_cursor: { readonly after: number; readonly event_watermark: number }
  readonly history_reset_required: {
    readonly after: number
    readonly first_event_seq: number
    readonly next_after: number
  }
  readonly payload_too_large:
    | { readonly limit_bytes: number; readonly size?: number }
    | { readonly limit_characters: number; readonly characters: number }
  readonly unsupported_media_type: { readonly content_encoding: string } | { readonly content_type: Text }
  readonly rate_limited:
    | { readonly policy: string; readonly limit: number; readonly window_seconds: number }
    | { readonly limit: number }
  /** The queue of a session, or the share of a workspace: `sessions`, `working_trees` or `disk_bytes`. */
  readonly quota_exhausted:
    | { readonly queued_turns: number; readonly limit: number }
    | { readonly quota: string; readonly used: number; readonly limit: number }
  readonly upstream_error: { readonly connection_id: string; readonly status: number | null } | UpstreamFault
  readonly upstream_timeout: UpstreamFault
  readonly waiting_capacity: { readonly reason: string }
}

interface UpstreamFault {
  readonly connection_id: string
  readonly reason: string
}
