import { Schema } from "effect"
import type { KnownForge } from "./ForgeDialects.js"
import type { Answer } from "./ForgeServer.js"
import type { HeldCheck, HeldComment } from "./ForgeStanding.js"
import { giteaReview, giteaWritten } from "./GiteaStanding.js"
import { githubWritten } from "./GitHubStanding.js"
import { gitlabNote, gitlabWritten } from "./GitLabStanding.js"

/** The server's part that new runs and comments are about. */
export interface ActsHeld {
  readonly checks: ReadonlyArray<HeldCheck>
  readonly comments: ReadonlyArray<HeldComment>
  readonly check: (check: Partial<HeldCheck> & Pick<HeldCheck, "head" | "name" | "state">) => HeldCheck
  readonly comment: (comment: Partial<HeldComment> & Pick<HeldComment, "pull" | "author" | "body">) => HeldComment
}

interface Act {
  readonly kind: KnownForge
  readonly method: string
  /** The path below the repository. */
  readonly rest: string
  readonly url: URL
  readonly body: string
}

const Body = Schema.parseJson(Schema.Struct({ body: Schema.String }))
const Reviewed = Schema.parseJson(
  Schema.Struct({
    event: Schema.Literal("COMMENT"),
    comments: Schema.Tuple(
      Schema.Struct({
        path: Schema.String,
        body: Schema.String,
        new_position: Schema.Int,
        old_position: Schema.Int
      })
    )
  })
)

const missing: Answer = { status: 404, body: { message: "Not Found" } }

const checkIn = ({ checks }: Pick<ActsHeld, "checks">, id: string | undefined) =>
  checks.find((check) => String(check.id) === id)

const again = (held: ActsHeld, id: string | undefined): Answer => {
  const check = checkIn(held, id)
  if (check === undefined) return missing
  const { app, event, head, name, suite, workflow } = check
  held.check({ app, event, head, name, suite, workflow, state: "pending" })
  return { status: 201, body: {} }
}

/** The answers to a comment that was written. */
const written: Readonly<Record<KnownForge, (comment: HeldComment) => unknown>> = {
  github: githubWritten,
  gitlab: gitlabWritten,
  gitea: giteaWritten
}

const patterns = {
  again: /^\/(?:actions\/jobs\/(\d+)\/rerun|jobs\/(\d+)\/retry)$/,
  remarks: /^\/check-runs\/(\d+)\/annotations$/,
  talk: /^\/(?:issues\/(\d+)\/comments|merge_requests\/(\d+)\/notes)$/,
  answer: /^\/pulls\/(\d+)\/comments\/(\d+)\/replies$/,
  discussion: /^\/merge_requests\/(\d+)\/discussions\/([0-9a-f]{40})\/notes$/,
  review: /^\/pulls\/(\d+)\/reviews$/,
  notes: /^\/merge_requests\/(\d+)\/notes$/
}

/** GitLab does what such a line says, and keeps no note of it. */
const isCommand = (text: string): boolean => /^\s*\/\w/m.test(text)

const commandsDone: Answer = { status: 202, body: { commands_changes: {}, summary: ["Applied commands."] } }

/** Answers the reply in a thread, as each product has it. */
const answerReply = (held: ActsHeld, { body: raw, kind, rest }: Act): Answer | undefined => {
  const [, pullOf, line] = patterns.answer.exec(rest) ?? []
  const [, requestOf, discussion] = patterns.discussion.exec(rest) ?? []
  const number = pullOf ?? requestOf
  if (number !== undefined) {
    const id = line === undefined ? Number.parseInt(discussion ?? "", 16) : Number(line)
    const root = held.comments.find((comment) => comment.id === id && comment.pull === Number(number))
    if (root === undefined || root.replyTo !== undefined) return missing
    const { body } = Schema.decodeUnknownSync(Body)(raw)
    if (requestOf !== undefined && isCommand(body)) return commandsDone
    const { place, pull } = root
    return { status: 201, body: written[kind](held.comment({ pull, author: "ann", body, place, replyTo: root.id })) }
  }
  const [, reviewOf] = patterns.review.exec(rest) ?? []
  if (reviewOf === undefined) return undefined
  const [{ body, new_position, old_position, path }] = Schema.decodeUnknownSync(Reviewed)(raw).comments
  const side = new_position > 0 ? "new" : "old"
  const place = { path, line: side === "new" ? new_position : old_position, side } as const
  return { status: 200, body: giteaReview(held.comment({ pull: Number(reviewOf), author: "ann", body, place })) }
}

/** Answers what is done around a merge request; undefined for any other call. */
export const answerAct = (held: ActsHeld, act: Act): Answer | undefined => {
  const { body, kind, method, rest, url } = act
  const [, ...run] = (method === "POST" && patterns.again.exec(rest)) || []
  if (run.length > 0) return again(held, run.find(Boolean))
  if (method === "GET" && patterns.remarks.test(rest)) return { status: 200, body: [] }
  const [, ...talk] = (method === "POST" && patterns.talk.exec(rest)) || []
  if (talk.length > 0) {
    const pull = Number(talk.find(Boolean))
    const { body: words } = Schema.decodeUnknownSync(Body)(body)
    if (rest.startsWith("/merge_requests/") && isCommand(words)) return commandsDone
    return { status: 201, body: written[kind](held.comment({ pull, author: "ann", body: words })) }
  }
  const reply = method === "POST" ? answerReply(held, act) : undefined
  if (reply !== undefined) return reply
  const [, notesOf] = (method === "GET" && patterns.notes.exec(rest)) || []
  if (notesOf !== undefined) {
    const notes = held.comments.filter(({ pull }) => pull === Number(notesOf))
    return { status: 200, body: url.searchParams.get("page") === "1" ? notes.map(gitlabNote) : [] }
  }
  return undefined
}
