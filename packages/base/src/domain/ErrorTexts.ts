import type { ErrorCode } from "./ReinsError.js"

/** The text of an error code, beside its status, its category and whether a retry can help. */
export interface ErrorText {
  /** One or two sentences: what has happened when an answer has this code. */
  readonly when: string
  /** The next step of the caller. */
  readonly next: string
}

/** A text for every code. The pages of documentation and the OpenAPI document take theirs from here. */
export const errorTexts: Readonly<Record<ErrorCode, ErrorText>> = {
  malformed_request: {
    when: "The server cannot read an HTTP request in what arrived.",
    next: "Look at what the client or a proxy in between sends."
  },
  invalid_cursor: {
    when: "`after` or `Last-Event-ID` names an event that the session does not have yet, or a `cursor` was not given out by this list.",
    next: "Send a `next_after` or `next_cursor` unchanged, or leave it out to start again."
  },
  unauthenticated: {
    when: "The request has no valid API key and no valid login: it is missing, expired or revoked.",
    next: "Send `Authorization: Bearer rk_...`, or log in."
  },
  invalid_credentials: {
    when: "The e-mail address or the password is wrong. It is the same for an address without an account.",
    next: "Ask the person again, or reset the password with `POST /api/auth/password-resets`."
  },
  forbidden: {
    when: "The account's role in the workspace does not allow this, or the key is for one workspace only.",
    next: "Ask an owner of the workspace for another role, or log in."
  },
  insufficient_scope: {
    when: "The API key lacks the scope that the operation needs. `details.required` names it.",
    next: "Use a key with that scope."
  },
  csrf_failed: {
    when: "A request that a login cookie authenticates lacks the header `X-CSRF-Token`, or comes from a page of another site.",
    next: "Send the token that the login gave, or use an API key."
  },
  email_unverified: {
    when: "The e-mail address of the account was not verified yet. It is told to a caller that knows the password, and to an account that joins a workspace.",
    next: "Open the link in the mail. `POST /api/auth/email-verifications` with the address sends another one."
  },
  not_found: {
    when: "There is no such resource or path, or these credentials may not see it. Both look the same on purpose. A file that is missing has `details.path`.",
    next: "Check the id and the workspace that the key belongs to."
  },
  result_not_ready: {
    when: "The delegation has no result yet, or ended without one. `details.state` is its state.",
    next: "Wait with `POST /api/delegations/{delegation_id}/waits`."
  },
  method_not_allowed: {
    when: "The path exists, with other methods. The header `Allow` and `details.allow` name them.",
    next: "Use one of these."
  },
  request_timeout: {
    when: "The request took too long to arrive. Nothing of it was done.",
    next: "Send it again."
  },
  invalid_transition: {
    when: "The resource is in a state in which this cannot be done, such as a message to a closed session. `details` has the state, and the moves that are allowed where there are any.",
    next: "Read the resource, and do what its state allows."
  },
  turn_active: {
    when: "The command needs a session at rest, and a turn waits or runs in it. `details.turn_id` names the running one.",
    next: "Wait until the turn has ended, or cancel it."
  },
  version_conflict: {
    when: "Somebody else has changed the resource or the file since it was read: `expected_version` or `expected_digest` is not what is there.",
    next: "Read it again, and repeat the change on what is there now."
  },
  idempotency_conflict: {
    when: "The `Idempotency-Key` was used for another request within the last 72 hours.",
    next: "Send a new key for a new request."
  },
  idempotency_in_progress: {
    when: "The first request with this `Idempotency-Key` is still running.",
    next: "Send the same request again in a moment; it gets the answer of the first one."
  },
  already_exists: {
    when: "The name is taken: another project of the workspace has the slug.",
    next: "Use what is there, or choose another name."
  },
  connection_in_use: {
    when: "The connection cannot be revoked while a turn runs with it. `details.turn_id` names the turn.",
    next: "Wait until the turn has ended, or cancel it."
  },
  connection_required: {
    when: "The workspace has no connection of the kind that is needed, or the chosen one is disabled or of another kind.",
    next: "Create a connection of the kind in the message, or enable or choose another one."
  },
  connection_revoked: {
    when: "The connection was revoked, and its credentials are destroyed.",
    next: "Create a new connection."
  },
  credential_invalid: {
    when: "The gateway refuses the key of the connection, or the stored credential can no longer be opened.",
    next: "Post a new credential version to the connection."
  },
  provider_disabled: {
    when: "There is no such provider, or it is disabled.",
    next: "Choose one that `GET /api/harnesses` lists with another tier than `disabled`."
  },
  already_claimed: {
    when: "Another holder has claimed the tool call, or the claim that an answer names is not the newest one.",
    next: "Leave the call to its holder, or claim it when `until` is over."
  },
  unsupported_capability: {
    when: "The provider or the forge cannot do this. For a provider the capability is not `supported`, and what is `unknown` or unproven counts as not supported.",
    next: "Do without it, or choose a provider or a method that can. `GET /api/harnesses` has the capabilities."
  },
  executor_unavailable: {
    when: "No executor can do it: the backend is not there, the session has no workspace yet, or the workspace is gone.",
    next: "Send a message or activate the executor, which makes the workspace; `GET /api/executor-backends` has the backends."
  },
  context_unavailable: {
    when: "The agent's own record of the conversation was changed or lost, so that the session cannot go on without a break.",
    next: "Create a new session with a summary as its first message."
  },
  model_required: {
    when: "The provider runs with a model, and neither the session nor its connection names one. `details.provider_id` is the provider.",
    next: "Name one as `harness.model` of a new session or as `model` of a `PATCH` of this one, or give the connection a `preferred_model`."
  },
  budget_unenforceable: {
    when: "A budget would not hold. `details.why` is `no_price` when the budget is in US dollars and the connection has no price for the model. It is `calls_unseen` when the model calls do not pass through the service.",
    next: "Give the connection `prices` or set the budget in tokens; for calls that nobody sees, use a connection with an `api_key`."
  },
  harness_switch_required: {
    when: "A session keeps its provider, and the request names another one.",
    next: "Switch with `POST /api/sessions/{session_id}/harness-switches`, which makes a new linked session with your summary."
  },
  stale_subject: {
    when: "The changeset is not sealed: it is being captured, or its capture failed. Or an answer has `seen` another subject than its approval has by now.",
    next: "Wait for the event `changeset.ready`, or capture again. Read a changed approval again, and answer with its new digest."
  },
  remote_head_changed: {
    when: "The branch of the merge request is at another commit than `expected_head_sha`. `details.head_sha` is the one that was seen.",
    next: "Review the commit that is there now, and send its id."
  },
  delivery_unresolved: {
    when: "A merge request needs a branch that was pushed, and the delivery has not succeeded. Or the URL of a session shall change while a delivery is on its way.",
    next: "Wait for `delivery.succeeded`. Retry a delivery that is `failed` or `blocked`, and cancel one that keeps a URL from changing."
  },
  conditions_unmet: {
    when: "A merge under conditions was asked for, and not all of them hold. `details.waiting_for` names the others.",
    next: "Wait for `merge_request.merged`: it is merged by itself once they hold. Or merge a commit that you have looked at."
  },
  result_already_set: {
    when: "The delegation has another result already. A result is written once.",
    next: "Read it, or delegate again for a new one."
  },
  delegation_limit: {
    when: "The session has as many live delegations as are allowed, or its delegations are nested too deep.",
    next: "Wait for one to end or cancel one; let a session at the deepest level do the work itself."
  },
  history_reset_required: {
    when: "The events before `details.first_event_seq` are no longer kept, because the session was closed long ago.",
    next: "Read the present state from the resources, and go on with `after` set to `details.next_after`."
  },
  token_expired: {
    when: "The one-time token of a mail or an invitation was used, has expired or never existed. Or a setup code is not good any more.",
    next: "Ask for a new one, or register without a setup code."
  },
  payload_too_large: {
    when: "A body, a message or a file is larger than the installation takes. `details` has the limit.",
    next: "Send less, or a file in the place of text. `GET /api/limits` has the limits."
  },
  unsupported_media_type: {
    when: "The body is not JSON in UTF-8 by its `Content-Type`, or has none or a `Content-Encoding`. Or a page of the server got another body than its form.",
    next: "Send plain JSON with `Content-Type: application/json`. `details` has what was sent."
  },
  rate_limited: {
    when: "Too many requests, failed logins or event streams of one caller.",
    next: "Wait for the seconds in the header `Retry-After`."
  },
  quota_exhausted: {
    when: "As many turns wait in the session as may.",
    next: "Wait until some have run, or cancel them."
  },
  headers_too_large: {
    when: "The headers of the request are larger than the server reads.",
    next: "Send fewer or smaller headers; cookies of other sites are the usual reason."
  },
  internal_error: {
    when: "Something went wrong in the server that was not foreseen.",
    next: "Send it again with the same `Idempotency-Key`. If it stays, give the operator the `request_id`, which is in the log."
  },
  upstream_error: {
    when: "The gateway of a connection cannot be reached, or answers with an error.",
    next: "Try again later; validate the connection if it stays."
  },
  waiting_capacity: {
    when: "The server is short of something for the moment: disk, the database, processors for passwords, or the node that has the files of a session. Nothing was done, unless the message says that it may have been.",
    next: "Send it again after the seconds in the header `Retry-After`. The operator has to mend a full disk."
  },
  shutting_down: {
    when: "The server is being stopped.",
    next: "Send it again in a moment."
  },
  upstream_timeout: {
    when: "The gateway of a connection did not answer in time.",
    next: "Try again later; validate the connection if it stays."
  }
}
