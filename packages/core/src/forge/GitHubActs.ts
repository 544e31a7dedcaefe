import { Effect, Schema } from "effect"
import { actsBy, tooManyComments } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import type { CheckRun } from "./CheckRun.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"
import { gitHubDraft } from "./GitHubDraft.js"

const Posted = Schema.Struct({
  id: Schema.Int,
  body: Schema.optional(Schema.NullOr(Schema.String)),
  html_url: Schema.optional(Schema.NullOr(Schema.String))
})

const Remark = Schema.Struct({
  path: Schema.String,
  start_line: Schema.optional(Schema.NullOr(Schema.Int)),
  message: Schema.optional(Schema.NullOr(Schema.String))
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
    commentOf: ({ html_url, id }: typeof Posted.Type) => ({
      forgeId: isLine ? String(id) : `talk:${id}`,
      url: html_url ?? null
    })
  }
}

/** A status is no run: it has no log, and only its author can begin it anew. */
const isRun = ({ key }: CheckRun): boolean => key.startsWith("run:")

/** The acts around pull requests of GitHub. */
export const gitHubActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/repos/${repository}`
  const { changed, done, read, shown } = actsBy(ask)
  return {
    log: Effect.fnUntraced(function* (check) {
      if (!isRun(check)) return undefined
      // The id of a run of Actions is that of its job too.
      const log = yield* shown(ask.text({ method: "GET", path: `${root}/actions/jobs/${check.run}/logs` }))
      const remarks = yield* shown(
        Effect.flatMap(
          ask({ method: "GET", path: `${root}/check-runs/${check.run}/annotations?per_page=50` }),
          decodeAnswer(Schema.Array(Remark))
        )
      )
      if (log === undefined && (remarks ?? []).length === 0) return undefined
      return checkLogOf(
        log ?? "",
        (remarks ?? []).map(({ message, path, start_line }) => ({
          path,
          line: start_line ?? null,
          message: message ?? ""
        }))
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
        Effect.flatMap(decodeAnswer(Posted)),
        Effect.map(commentOf)
      )
    },
    posted: Effect.fnUntraced(function* (number, mark, thread) {
      const { commentOf, list } = placeOf(thread)
      for (let page = 1; page <= mostPages; page++) {
        const path = `${root}/${list}/${number}/comments?per_page=${perPage}&page=${page}`
        const found = yield* Effect.flatMap(read({ method: "GET", path }), decodeAnswer(Schema.Array(Posted)))
        const own = found.find(({ body }) => body?.includes(mark) === true)
        if (own !== undefined) return commentOf(own)
        if (found.length < perPage) return undefined
      }
      return yield* tooManyComments
    }),
    setDraft: gitHubDraft(ask, root)
  }
}
