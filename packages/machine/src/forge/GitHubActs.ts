import { readEach } from "@reins/base/base/ForeignList"
import { adorns } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { actsBy, markedIn, postedIn, SaidComment, tooManyComments } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import type { CheckRun } from "./CheckRun.js"
import { Path } from "./ForeignParts.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"
import { gitHubDraft } from "./GitHubDraft.js"

const Remark = Schema.Struct({
  path: Path,
  start_line: adorns(Schema.Int),
  message: adorns(Schema.String)
})

const perPage = 100
/** GitHub takes 2,500 comments. */
const mostPages = 30

/** The place of comments: a thread about a line, by its first comment, or the talk. */
const placeOf = (thread: string | undefined) => {
  const isLine = thread !== undefined && /^\d+$/.test(thread)
  return {
    list: isLine ? "pulls" : "issues",
    write: isLine ? `comments/${thread}/replies` : "comments",
    commentOf: ({ html_url, id }: typeof SaidComment.Type) => ({
      forgeId: isLine ? String(id) : `talk:${id}`,
      url: html_url
    })
  }
}

/** A status is no run: it has no log, and only its author can begin it anew. */
const isRun = ({ key }: CheckRun): boolean => key.startsWith("run:")

/** The acts around pull requests of GitHub. */
export const gitHubActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/repos/${repository}`
  const { changed, done, log: readLog, read, shown } = actsBy(ask)
  return {
    log: Effect.fnUntraced(function* (check) {
      if (!isRun(check)) return undefined
      // The id of a run of Actions is that of its job too.
      const log = yield* readLog({ method: "GET", path: `${root}/actions/jobs/${check.run}/logs` })
      const answer = yield* shown(
        ask({ method: "GET", path: `${root}/check-runs/${check.run}/annotations?per_page=50` })
      )
      // A remark that cannot be read is left out: the log has the words too.
      const remarks = Array.isArray(answer) ? readEach(Remark)(answer).items : []
      return checkLogOf(
        log,
        remarks.map(({ message, path, start_line }) => ({ path, line: start_line, message: message ?? "" }))
      )
    }),
    rerun: Effect.fnUntraced(function* (check) {
      if (!isRun(check)) return false
      const again = yield* done({ method: "POST", path: `${root}/actions/jobs/${check.run}/rerun` })
      return again || (yield* done({ method: "POST", path: `${root}/check-runs/${check.run}/rerequest` }))
    }),
    reply: (number, body, thread) => {
      const { commentOf, list, write } = placeOf(thread)
      return changed({ method: "POST", path: `${root}/${list}/${number}/${write}`, body: { body } }).pipe(
        Effect.flatMap(decodeAnswer(SaidComment)),
        Effect.map(commentOf)
      )
    },
    posted: Effect.fnUntraced(function* (number, mark, thread) {
      const { commentOf, list } = placeOf(thread)
      for (let page = 1; page <= mostPages; page++) {
        const path = `${root}/${list}/${number}/comments?per_page=${perPage}&page=${page}`
        const found = yield* Effect.flatMap(read({ method: "GET", path }), postedIn)
        const own = yield* markedIn(found, mark)
        if (own !== undefined) return commentOf(own)
        if (found.items.length < perPage) return undefined
      }
      return yield* tooManyComments
    }),
    setDraft: gitHubDraft(ask, root)
  }
}
