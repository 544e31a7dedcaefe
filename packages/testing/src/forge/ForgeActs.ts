import { Schema } from "effect"
import type { Answer } from "./ForgeServer.js"
import type { HeldCheck, HeldComment } from "./ForgeStanding.js"

/** What logs, new runs, comments and permissions are about. */
export interface ActsHeld {
  readonly checks: ReadonlyArray<HeldCheck>
  readonly comments: ReadonlyArray<HeldComment>
  readonly writers: ReadonlySet<string>
  readonly check: (check: Pick<HeldCheck, "head" | "name" | "state">) => HeldCheck
  readonly comment: (comment: Pick<HeldComment, "author" | "body">) => HeldComment
}

interface Act {
  readonly method: string
  /** The path below the repository. */
  readonly rest: string
  readonly url: URL
  readonly body: string
}

const Body = Schema.parseJson(Schema.Struct({ body: Schema.String }))

const missing: Answer = { status: 404, body: { message: "Not Found" } }

const checkIn = ({ checks }: Pick<ActsHeld, "checks">, id: string | undefined) =>
  checks.find((check) => String(check.id) === id)

/** The log that a forge keeps outside of its API; undefined for any other path. */
export const logAt = (held: Pick<ActsHeld, "checks">, url: URL): string | undefined =>
  checkIn(held, /^\/logs\/(\d+)$/.exec(url.pathname)?.[1])?.log

const logOf = (held: ActsHeld, id: string | undefined, { url }: Act): Answer => {
  const check = checkIn(held, id)
  if (check === undefined || check.log === "") return missing
  // GitHub keeps logs at another host, whose address is good for a minute.
  return url.pathname.startsWith("/api/v3/")
    ? { status: 302, body: undefined, location: `/logs/${check.id}` }
    : { status: 200, body: undefined, text: check.log }
}

const again = (held: ActsHeld, id: string | undefined): Answer => {
  const check = checkIn(held, id)
  if (check === undefined) return missing
  held.check({ head: check.head, name: check.name, state: "pending" })
  return { status: 201, body: {} }
}

const shown = ({ author, body, id }: HeldComment) => ({
  id,
  body,
  user: { login: author },
  author: { username: author },
  created_at: "2026-01-01T00:00:00Z",
  html_url: ""
})

const patterns = {
  log: /^\/(?:actions\/jobs\/(\d+)\/logs|jobs\/(\d+)\/trace)$/,
  again: /^\/(?:actions\/jobs\/(\d+)\/rerun|jobs\/(\d+)\/retry)$/,
  remarks: /^\/check-runs\/(\d+)\/annotations$/,
  talk: /^\/(?:issues\/\d+\/comments|merge_requests\/\d+\/notes)$/,
  notes: /^\/merge_requests\/\d+\/notes$/,
  permission: /^\/collaborators\/([^/]+)\/permission$/
}

/** Answers what is done around a merge request; undefined for any other call. */
export const answerAct = (held: ActsHeld, act: Act): Answer | undefined => {
  const { body, method, rest, url } = act
  const [, ...log] = (method === "GET" && patterns.log.exec(rest)) || []
  if (log.length > 0) return logOf(held, log.find(Boolean), act)
  const [, ...run] = (method === "POST" && patterns.again.exec(rest)) || []
  if (run.length > 0) return again(held, run.find(Boolean))
  if (method === "GET" && patterns.remarks.test(rest)) return { status: 200, body: [] }
  if (method === "POST" && patterns.talk.test(rest)) {
    const comment = held.comment({ author: "ann", body: Schema.decodeUnknownSync(Body)(body).body })
    return { status: 201, body: shown(comment) }
  }
  if (method === "GET" && patterns.notes.test(rest))
    return { status: 200, body: url.searchParams.get("page") === "1" ? held.comments.map(shown) : [] }
  const login = patterns.permission.exec(rest)?.[1]
  if (login !== undefined)
    return { status: 200, body: { permission: held.writers.has(decodeURIComponent(login)) ? "write" : "read" } }
  if (rest === "/members/all") {
    const asked = url.searchParams.get("query") ?? ""
    const found = [...held.writers].filter((writer) => writer.includes(asked))
    return { status: 200, body: found.map((username) => ({ username, access_level: 30 })) }
  }
  return undefined
}
