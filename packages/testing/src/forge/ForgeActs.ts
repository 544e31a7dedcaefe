import { Schema } from "effect"
import type { Answer } from "./ForgeServer.js"
import type { HeldCheck, HeldComment } from "./ForgeStanding.js"

/** The server's part that new runs and comments are about. */
export interface ActsHeld {
  readonly checks: ReadonlyArray<HeldCheck>
  readonly comments: ReadonlyArray<HeldComment>
  readonly check: (check: Pick<HeldCheck, "head" | "name" | "state">) => HeldCheck
  readonly comment: (comment: Pick<HeldComment, "pull" | "author" | "body">) => HeldComment
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
  again: /^\/(?:actions\/jobs\/(\d+)\/rerun|jobs\/(\d+)\/retry)$/,
  remarks: /^\/check-runs\/(\d+)\/annotations$/,
  talk: /^\/(?:issues\/(\d+)\/comments|merge_requests\/(\d+)\/notes)$/,
  notes: /^\/merge_requests\/(\d+)\/notes$/
}

/** Answers what is done around a merge request; undefined for any other call. */
export const answerAct = (held: ActsHeld, act: Act): Answer | undefined => {
  const { body, method, rest, url } = act
  const [, ...run] = (method === "POST" && patterns.again.exec(rest)) || []
  if (run.length > 0) return again(held, run.find(Boolean))
  if (method === "GET" && patterns.remarks.test(rest)) return { status: 200, body: [] }
  const [, ...talk] = (method === "POST" && patterns.talk.exec(rest)) || []
  if (talk.length > 0) {
    const pull = Number(talk.find(Boolean))
    const comment = held.comment({ pull, author: "ann", body: Schema.decodeUnknownSync(Body)(body).body })
    return { status: 201, body: shown(comment) }
  }
  const [, notesOf] = (method === "GET" && patterns.notes.exec(rest)) || []
  if (notesOf !== undefined) {
    const notes = held.comments.filter(({ pull }) => pull === Number(notesOf))
    return { status: 200, body: url.searchParams.get("page") === "1" ? notes.map(shown) : [] }
  }
  return undefined
}
