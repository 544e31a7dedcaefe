/** A button that mends what an error is about. */
export interface Mend {
  readonly label: string
  readonly href: string
}

/** An error in words for a person. */
export interface Sentence {
  readonly text: string
  /** The name of the field that it is about. */
  readonly field?: string
  readonly mend?: Mend
}

const connections: Mend = { label: "Open Connections", href: "connections" }

/** The sentences of the codes that a person can meet. Others are said with the server's own words. */
export const sentences: Readonly<Record<string, Sentence>> = {
  already_claimed: { text: "A program answers this call at the moment. Try again when its claim is over." },
  already_exists: { text: "This name is taken. Choose another one." },
  budget_unenforceable: {
    text: "This budget would not hold, because the cost of the model is not known. Set it in tokens, or add prices to the connection.",
    mend: { label: "Add prices", href: "connections" }
  },
  connection_in_use: { text: "A turn runs with this connection. Cancel it, or wait until it has ended." },
  connection_required: {
    text: "This agent has no connection to models yet. Add one.",
    mend: { label: "Add a connection", href: "connections" }
  },
  conditions_unmet: { text: "Not all merge conditions hold yet. It is merged by itself once they do." },
  connection_revoked: { text: "This connection was revoked. Choose or add another one.", mend: connections },
  context_unavailable: {
    text: "The agent has lost its record of this conversation. Start a new session with a short summary.",
    mend: { label: "New session", href: "new" }
  },
  credential_invalid: {
    text: "The gateway refused this key. Replace it.",
    mend: { label: "Replace the key", href: "connections" }
  },
  csrf_failed: { text: "Your login has changed in another tab. Load this page again." },
  delegation_limit: { text: "This session has as many delegations as it may. Wait for one to end, or cancel one." },
  delivery_unresolved: { text: "The delivery has not ended yet. Wait for it, or cancel it." },
  email_unverified: { text: "Your e-mail address is not verified yet. Open the link in the mail that we sent you." },
  executor_unavailable: {
    text: "The agent has no place to run at the moment. Try again in a moment.",
    mend: { label: "Open Server", href: "server" }
  },
  forbidden: { text: "Your role in this workspace does not allow this. Ask an owner." },
  harness_switch_required: { text: "A session keeps its agent. Start a new session with the other one." },
  history_reset_required: { text: "The beginning of this session is no longer kept. Load this page again." },
  insufficient_scope: { text: "You may not do this with this key." },
  internal_error: {
    text: "Something went wrong on the server. Try again. If it stays, give the operator the details."
  },
  invalid_credentials: { text: "The e-mail address or the password is wrong." },
  invalid_cursor: { text: "This list has changed. Load this page again." },
  invalid_transition: { text: "This is no longer possible, because something has changed. Load this page again." },
  model_required: { text: "Choose a model.", field: "model" },
  network: { text: "The server does not answer. Check your connection, and try again." },
  not_found: { text: "This does not exist, or you may not see it." },
  payload_too_large: { text: "This is too large. Send less, or attach it as a file." },
  provider_disabled: { text: "This agent is not available here. Choose another one.", field: "provider_id" },
  quota_exhausted: { text: "A limit is reached. Remove what you do not need, or ask the operator for more." },
  rate_limited: { text: "Too many attempts. Wait a moment, and try again." },
  remote_head_changed: { text: "The branch has moved since you reviewed it. Review the commit that is there now." },
  request_timeout: { text: "The request took too long. Try again." },
  result_already_set: { text: "This delegation has a result already." },
  result_not_ready: { text: "This delegation has no result yet." },
  shutting_down: { text: "The server is being restarted. Try again in a moment." },
  stale_subject: { text: "This is not complete yet, or has changed since you saw it. Look at it again." },
  token_expired: { text: "This code or link is no longer valid. Ask for a new one." },
  turn_active: { text: "A turn runs in this session. Cancel it, or wait until it has ended." },
  unauthenticated: { text: "Your login is over. Log in again." },
  unsupported_capability: { text: "The agent cannot do this. Leave it out, or choose another agent." },
  upstream_error: {
    text: "The gateway does not answer, or answers with an error. Check the connection.",
    mend: connections
  },
  upstream_timeout: { text: "The gateway did not answer in time. Try again." },
  version_conflict: { text: "Somebody else has changed this in the meantime. Load it again, then repeat your change." },
  waiting_capacity: { text: "The server is busy. Try again in a moment." }
}

/** The codes whose own message tells more than a sentence of this page could, as a path or the reason of a refusal. */
const toldByServer: ReadonlySet<string> = new Set([
  "already_exists",
  "budget_unenforceable",
  "connection_required",
  "delegation_limit",
  "delivery_unresolved",
  "forbidden",
  "invalid_transition",
  "payload_too_large",
  "quota_exhausted",
  "rate_limited",
  "turn_active",
  "unsupported_capability",
  "upstream_error",
  "waiting_capacity"
])

/** Words for programs: calls of the API, and names of its fields. */
const forPrograms =
  /\b(?:GET|POST|PATCH|PUT|DELETE)\b|\/api\/|\bPost an?\b|\bbody\.|\bdetails\.|Value error|Idempotency-Key|`[a-z]+(?:_[a-z]+)+`|\b(?:base_url|api_key|provider_id|preferred_model|target_ref|next_cursor|expected_\w+)\b|\b(?:harness|executor|repository)\.[a-z_]+/

const sentenceEnd = /(?<=[.!?])\s+(?=[A-Z“"])/

/** The sentences of a text of the server that a person can use. Those about calls and fields are left out. */
export const forPeople = (text: string): string =>
  text
    .replace(/\b(session|turn|key|workspace|connection) (?:sess|turn|key|wsp|con)_\w+/g, "$1")
    .replace(/ ?\((?:GET|POST|PATCH|PUT|DELETE) [^()]*?(\d{3})\)/g, " ($1)")
    .split(sentenceEnd)
    .filter((sentence) => !forPrograms.test(sentence))
    .join(" ")

/** The error of a code for a person: its own sentence, or what a person can use of the server's message. */
export const sentenceOf = (code: string | null, message: string): Sentence => {
  const known = code === null ? undefined : sentences[code]
  const told = forPeople(message)
  if (known === undefined) return { text: told === "" ? "This did not work. The details say more." : told }
  return told !== "" && code !== null && toldByServer.has(code) ? { ...known, text: told } : known
}

/** The fault of the value of a field, in words for a person. */
export const fieldSentence = (message: string): string => {
  const text = message.replace(/^Value error, /, "")
  const [, least] = /at least (\d+) character/.exec(text) ?? []
  if (/^Field required/.test(text)) return "This is required."
  if (least !== undefined) return `Use at least ${least} characters.`
  if (/guessed first/.test(text)) return "This password is easy to guess. Use a few unrelated words."
  if (/repository URL is not valid/i.test(text)) return "This is no address of a repository. Use https://host/path.git."
  if (/^(?:Input should|String should|Extra inputs)/.test(text))
    return text
      .replace(/^(?:Input|String) should/, "It should")
      .replace(/'/g, "“")
      .replace(/([^.])$/, "$1.")
  const people = forPeople(text)
  return people === "" ? "This value is not valid." : people.replace(/([^.!?])$/, "$1.")
}
