import type { ErrorCode, ReinsApiError, ReinsValidationError, TurnSnapshot } from "@reins/client"
import { harmless } from "../terminal/Style.js"

/** The material of a sentence: the facts of the error, and the server's own words for programs. */
type Refusal = Pick<ReinsApiError, "details" | "message">

type Sentence = (refusal: Refusal) => string

const text = ({ details }: Refusal, name: string): string | undefined => {
  const value = details[name]
  return typeof value === "string" || typeof value === "number" ? harmless(String(value)) : undefined
}

const list = ({ details }: Refusal, name: string): string => {
  const value = details[name]
  return Array.isArray(value) ? harmless(value.map(String).join(", ")) : ""
}

/** Words of programs, which a person at a terminal can do nothing with. */
export const forPrograms =
  /\b(?:GET|POST|PUT|PATCH|DELETE)\b|\/api\/|\bPost a\b|\bbody\.|Value error|harness\.model|\bbase_(?:ref|url)\b|\b[a-z]+_[a-z_]+ of\b/

/** The server's words without the sentences that are for programs; the other text where none is left. */
const spoken = ({ message }: Refusal, otherwise: string): string => {
  const kept = message
    .replaceAll("Value error, ", "")
    .split(/(?<=[.!?])\s+/)
    .filter((sentence) => sentence !== "" && !forPrograms.test(sentence))
  return kept.length === 0 ? otherwise : harmless(kept.join(" "))
}

const says =
  (sentence: string): Sentence =>
  () =>
    sentence

const keeps =
  (otherwise: string): Sentence =>
  (refusal) =>
    spoken(refusal, otherwise)

/** The sentence of the command line for each code of the API, with the flag or command that mends it. */
export const sentences: Readonly<Record<ErrorCode, Sentence>> = {
  malformed_request: keeps("The server cannot read this request. Check the values of the options."),
  invalid_cursor: says("The place to go on from is not one of this session. Begin without it."),
  unauthenticated: says("The server does not know the key. Run `reins init` for a new one, or set REINS_API_KEY."),
  invalid_credentials: says("The address or the password is wrong."),
  forbidden: (refusal) =>
    text(refusal, "role") === undefined
      ? "You may not do this. Ask an owner of the workspace."
      : `Your role in this workspace (${text(refusal, "role")}) may not do this. Ask an owner of it.`,
  insufficient_scope: (refusal) =>
    `This needs a key with the scope ${text(refusal, "required") ?? "admin"}, and yours has ${list(refusal, "scopes") || "another"}. Make one with \`reins keys create\`.`,
  csrf_failed: says("The server takes this from its own page alone. Use an API key."),
  email_unverified: says("The address of the account is not confirmed yet. Follow the link of the mail first."),
  not_found: (refusal) => {
    const path = text(refusal, "path")
    if (path !== undefined) return `There is no file ${path}.`
    return text(refusal, "workspace") === undefined
      ? "There is no such thing, or your key may not see it. Check the id and --workspace."
      : "The files of this session are not there yet. Send it a message first."
  },
  result_not_ready: says("It is not ready yet. Ask again when its work has ended."),
  method_not_allowed: says("The server does not do this. Its release may be older than this command."),
  request_timeout: says("The request took too long to reach the server. Try again."),
  invalid_transition: keeps("This cannot be done in its present state."),
  turn_active: says("A turn runs in this session. Wait for it with `reins sessions watch`, or cancel it."),
  version_conflict: says("Somebody else has changed it meanwhile. Look at it again, then repeat this."),
  idempotency_conflict: says("The same idempotency key was used for another request. Give another one."),
  idempotency_in_progress: says("The same request is still at work. Try again in a moment."),
  already_claimed: (refusal) =>
    text(refusal, "holder") === undefined
      ? "Somebody else has claimed this call. Leave it to them, or try again when their claim is over."
      : `${text(refusal, "holder")} has claimed this call. Leave it to them, or try again when their claim is over.`,
  already_exists: (refusal) =>
    text(refusal, "slug") === undefined
      ? "There is one of this name already. Choose another name."
      : `There is one named ${text(refusal, "slug")} already. Choose another name.`,
  connection_in_use: says("A turn uses this connection. Wait for it, or cancel it."),
  connection_required: (refusal) => {
    if (text(refusal, "forge") !== undefined) return spoken(refusal, "The connection to the forge is not active.")
    return text(refusal, "connection_id") === undefined
      ? "There is no connection to models for this agent. Add one with `reins init --gateway URL`."
      : "The connection cannot be used for this. Choose another one."
  },
  model_required: says("Choose a model with --model. `reins models` lists them."),
  budget_unenforceable: (refusal) =>
    text(refusal, "why") === "no_price"
      ? `There is no price for ${text(refusal, "model") ?? "this model"}, so a budget in dollars cannot be held. Give one in tokens.`
      : "The calls of this agent do not pass through the server, so a budget cannot be held. Leave out --budget.",
  connection_revoked: says("The connection was revoked. Add another one with `reins init --gateway URL`."),
  credential_invalid: says(
    "The gateway refused the key of the connection. Give another one: REINS_GATEWAY_KEY=KEY reins init"
  ),
  provider_disabled: (refusal) =>
    `The agent ${text(refusal, "provider_id") ?? ""} is not offered here. Choose another one with --agent.`,
  unsupported_capability: (refusal) => {
    const others = list(refusal, "supported_by")
    const able = others === "" ? "" : ` These can: ${others}.`
    return text(refusal, "capability") === undefined
      ? spoken(refusal, "This is not supported here.")
      : `This agent cannot do that (${text(refusal, "capability")}).${able}`
  },
  executor_unavailable: keeps("The server has no place to run the agent now. Try again, or see `reins doctor`."),
  context_unavailable: says("The agent cannot go on with its conversation. Begin a new session without --session."),
  harness_switch_required: says("The session runs with another agent. Begin a new one without --session."),
  stale_subject: (refusal) =>
    text(refusal, "seen") === undefined
      ? "The changes are not ready or no longer the newest. Look at them with `reins sessions diff`."
      : "The agent has changed what it asks for since you looked at it. Look at it again, then answer.",
  remote_head_changed: says("The branch has moved on the remote. Deliver again, or name another one with --branch."),
  conditions_unmet: keeps("Not all merge conditions hold yet. It is merged by itself once they do."),
  delivery_unresolved: says("An earlier delivery has not ended. Wait for it, then deliver again."),
  result_already_set: says("There is a result already."),
  delegation_limit: says("No more sessions may be delegated here."),
  history_reset_required: says("The events before are no longer kept. Begin without a place to go on from."),
  token_expired: says("The link or code is too old. Ask for a new one."),
  payload_too_large: (refusal) =>
    text(refusal, "limit_characters") === undefined
      ? "It is larger than the server takes."
      : `The text is longer than the ${text(refusal, "limit_characters")} characters that the server takes. Shorten it.`,
  unsupported_media_type: says("The server does not take content of this type."),
  rate_limited: says("Too many requests. Try again in a moment."),
  quota_exhausted: (refusal) =>
    text(refusal, "queued_turns") === undefined
      ? "The workspace has used its share. Close sessions that are done, or ask its owner."
      : `${text(refusal, "queued_turns")} messages wait in this session already. Let some of them run first.`,
  headers_too_large: says("The request is too large in its head. Shorten the key or the address."),
  internal_error: says("The server failed. Its log says more."),
  upstream_error: keeps("The service behind the connection failed. Try again later."),
  waiting_capacity: says("The server has no room now. Try again in a moment."),
  shutting_down: says("The server is stopping. Try again when it runs."),
  upstream_timeout: says("The service behind the connection did not answer in time. Try again later.")
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(sentences, code)

/** The sentence for a refusal of the server, for a person at a terminal. */
export const refusalSentence = (error: ReinsApiError): string => {
  const said = isCode(error.code)
    ? sentences[error.code](error)
    : spoken(error, `The server refused this with the status ${error.status}.`)
  return error.requestId === null || error.status < 500 ? said : `${said} (request ${error.requestId})`
}

/** The advice after the end of a turn, where a command helps. */
const turnHints: Readonly<Partial<Record<NonNullable<TurnSnapshot["reason"]>, (turn: TurnSnapshot) => string>>> = {
  budget_exhausted: ({ session_id }) => `Raise it: reins budget ${session_id} AMOUNT`,
  connection_required: () => "Add a connection to models: reins init --gateway URL",
  credential_invalid: () => "Give the connection another key: REINS_GATEWAY_KEY=KEY reins init",
  context_unavailable: () => "Begin a new session.",
  context_exceeded: () => "Begin a new session, or choose another model.",
  answer_cut: () => "Ask the agent to go on.",
  answer_withheld: () => "Say it in another way, or choose another model.",
  executor_unavailable: () => "See on the server: reins doctor"
}

/** Why a turn has ended, for a person, with what mends it. */
export const turnReason = (turn: TurnSnapshot): string => {
  const why = reasonText(turn)
  const hint = turn.reason === null ? undefined : turnHints[turn.reason]?.(turn)
  return hint === undefined ? why : `${why} ${hint}`
}

/** A reason in the server's words, without those for programs. */
export const reasonText = ({ reason, reason_message }: Record<"reason" | "reason_message", string | null>): string =>
  spoken(
    { message: reason_message ?? reason?.replaceAll("_", " ") ?? "", details: {} },
    reason === null ? "no reason was given." : `${reason.replaceAll("_", " ")}.`
  )

/** The options that give the fields of a request. */
const flags: Readonly<Record<string, string>> = {
  "repository.url": "--repo",
  "repository.base_ref": "--ref",
  "repository.sparse": "--sparse",
  "harness.model": "--model",
  "harness.provider_id": "--agent",
  target_ref: "--branch",
  title: "--title",
  types: "--types",
  url: "the address",
  content: "the message",
  password: "the password",
  email: "--email",
  since: "--since",
  until: "--until"
}

/** The sentences for values that the server does not take, each with the option that gave it. */
export const validationSentence = ({ detail }: ReinsValidationError): string =>
  detail
    .map(({ loc, msg }) => {
      const names = loc.slice(1).filter((part) => typeof part === "string")
      const found = names.map((_, at) => flags[names.slice(0, names.length - at).join(".")]).find(Boolean)
      const said = spoken({ message: msg, details: {} }, "It cannot be used.")
      const sentence = `${said.charAt(0).toUpperCase()}${said.slice(1)}`.replace(/[^.!?]$/, "$&.")
      return `${found ?? names.join(" ").replaceAll("_", " ")}: ${sentence}`
    })
    .join("\n")
