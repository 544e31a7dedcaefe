import { Effect, Schema } from "effect"
import { actsBy } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import type { CheckRun } from "./CheckRun.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"

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
const mostPages = 10

const commentOf = ({ html_url, id }: typeof Posted.Type) => ({ forgeId: `talk:${id}`, url: html_url ?? null })

/** A status is no run: it has no log, and only its author can begin it anew. */
const isRun = ({ key }: CheckRun): boolean => key.startsWith("run:")

/** The acts around pull requests of GitHub. */
export const gitHubActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/repos/${repository}`
  const { changed, done, shown } = actsBy(ask)
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
    reply: (number, body) =>
      changed({ method: "POST", path: `${root}/issues/${number}/comments`, body: { body } }).pipe(
        Effect.flatMap(decodeAnswer(Posted)),
        Effect.map(commentOf)
      ),
    posted: Effect.fnUntraced(function* (number, mark) {
      for (let page = 1; page <= mostPages; page++) {
        const path = `${root}/issues/${number}/comments?per_page=${perPage}&page=${page}`
        const answer = yield* shown(ask({ method: "GET", path }))
        const found = answer === undefined ? [] : yield* decodeAnswer(Schema.Array(Posted))(answer)
        const own = found.find(({ body }) => body?.includes(mark) === true)
        if (own !== undefined) return commentOf(own)
        if (found.length < perPage) return undefined
      }
      return undefined
    })
  }
}
