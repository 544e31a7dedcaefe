import type { IncomingHttpHeaders } from "node:http"
import { foreignJson } from "@reins/base/base/ForeignJson"
import { foreignName } from "@reins/base/base/ForeignText"
import { headerOf, pauseOf, type RefusalRow, type Refused, refusalOf } from "@reins/base/base/RefusalTable"
import { isRecord } from "./ForeignMessage.js"

// Refusals of servers of tools, read by status, headers and words together.

/**
 * - `authorization`: somebody has to give or mend a key.
 * - `wait`: the server wants to be asked later.
 * - `session`: the server does not know the session any more. A new one may do.
 * - `refused`: asking again gives the same.
 */
type Kind = "authorization" | "wait" | "session" | "refused"

const later = (refused: Refused): string => {
  const ms = pauseOf(refused, Date.now())
  return ms === undefined ? "" : ` It wants to be asked again in ${Math.ceil(ms / 1000)} seconds.`
}

/** The first row that fits counts. */
const table: ReadonlyArray<RefusalRow<Kind>> = [
  {
    status: [403],
    words: ["insufficient_scope"],
    is: "authorization",
    mender: "person",
    say: "It refuses the scopes of its token (403). Log in again with those that it names."
  },
  {
    status: [401],
    is: "authorization",
    mender: "person",
    say: "It asks for a key, or refuses the one that it was given (401). Give the server `headers` with a secret of the project, or a connection; or check what it has."
  },
  { status: [407], is: "refused", mender: "operator", say: "A proxy in front of it asks for a key (407)." },
  { status: [403], is: "refused", mender: "person", say: "It refuses access (403). Check what its key may do there." },
  {
    status: [400],
    words: ["session"],
    is: "session",
    mender: "time",
    say: "It does not know the session (400)."
  },
  {
    status: [404],
    is: "session",
    mender: "person",
    say: "It knows nothing at this address (404). Check the url of the server."
  },
  {
    status: [405],
    is: "refused",
    mender: "person",
    say: "It takes no POST at this address (405), as servers of the older transport with two addresses (HTTP with SSE) do. Name its address of the transport Streamable HTTP."
  },
  { status: [410], is: "refused", mender: "person", say: "It is gone from this address for good (410)." },
  {
    status: [413],
    is: "refused",
    mender: "person",
    say: "The request is too long for it (413). Call the tool with less."
  },
  {
    status: [408, 425, 429, 503, 529],
    is: "wait",
    mender: "time",
    say: (refused) => `It takes no request now (${refused.status}).${later(refused)}`
  },
  {
    status: [502, 504],
    is: "refused",
    mender: "time",
    say: ({ status }) => `A gateway in front of it gets no answer (${status}).`
  },
  {
    is: "refused",
    mender: "person",
    say: ({ status }) => (status >= 500 ? `It has failed (${status}).` : `It refuses the request (${status}).`)
  }
]

const readTable = refusalOf(table)

/** Sentences about a refusal and the next step. `waitMs` is null where the server does not say when it wants to be asked again. */
export const readServerRefusal = (refused: Refused) => {
  const { kind = "refused", say = "It refuses the request.", waitMs = null } = readTable(refused, Date.now()) ?? {}
  return { kind, waitMs, message: refused.words === "" ? say : `${say} It says: ${refused.words}` }
}

/** True where a request of any kind may be sent again, because the server has said that it took none. */
export const isUntaken = (refused: Refused): boolean =>
  refused.status === 429 || refused.status === 425 || (refused.status === 503 && pauseOf(refused, 0) !== undefined)

/** A text on one line. It is not cut here, because a secret in it could then not be found any more. */
const oneLine = (text: string): string => foreignName(text, text.length)

/** The words of a body: those of an error in JSON, the title of a page, or a short text. */
export const wordsOfBody = (text: string): string => {
  if (/^\s*</.test(text)) {
    const lower = text.toLowerCase()
    const from = lower.indexOf("<title>")
    const to = lower.indexOf("</title>", from)
    return from === -1 || to === -1 ? "" : oneLine(text.slice(from + "<title>".length, to))
  }
  const value = foreignJson(text)
  if (!isRecord(value)) return oneLine(typeof value === "string" ? value : text)
  const { error } = value
  const inner = isRecord(error) ? error : {}
  const said = [inner["message"], value["error_description"], value["message"], value["detail"], error, value["title"]]
  const found = said.find((word): word is string => typeof word === "string" && word !== "")
  return found === undefined ? "" : oneLine(found)
}

/** A refusal by its answer. A challenge says which scopes are lacking. */
export const refusedAnswer = (status: number, headers: IncomingHttpHeaders, text: string): Refused => {
  const challenge = status === 403 ? oneLine(headerOf({ headers }, "www-authenticate") ?? "") : ""
  return { status, headers, words: [wordsOfBody(text), challenge].filter((words) => words !== "").join(" ") }
}
