import { Effect, Schema } from "effect"
import { actsBy } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"

const Note = Schema.Struct({ id: Schema.Int, body: Schema.optional(Schema.String) })

const perPage = 100
const mostPages = 10

const commentOf = ({ id }: typeof Note.Type) => ({ forgeId: String(id), url: null })

/** The acts around merge requests of GitLab. The id of a status of a job is that of the job. */
export const gitLabActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/projects/${encodeURIComponent(repository)}`
  const { changed, done, shown } = actsBy(ask)
  return {
    log: Effect.fnUntraced(function* ({ run }) {
      const log = yield* shown(ask.text({ method: "GET", path: `${root}/jobs/${run}/trace` }))
      return log === undefined ? undefined : checkLogOf(log, [])
    }),
    rerun: ({ run }) => done({ method: "POST", path: `${root}/jobs/${run}/retry` }),
    reply: (number, body) =>
      changed({ method: "POST", path: `${root}/merge_requests/${number}/notes`, body: { body } }).pipe(
        Effect.flatMap(decodeAnswer(Note)),
        Effect.map(commentOf)
      ),
    posted: Effect.fnUntraced(function* (number, mark) {
      for (let page = 1; page <= mostPages; page++) {
        const path = `${root}/merge_requests/${number}/notes?sort=desc&per_page=${perPage}&page=${page}`
        const answer = yield* shown(ask({ method: "GET", path }))
        const found = answer === undefined ? [] : yield* decodeAnswer(Schema.Array(Note))(answer)
        const own = found.find(({ body }) => body?.includes(mark) === true)
        if (own !== undefined) return commentOf(own)
        if (found.length < perPage) return undefined
      }
      return undefined
    })
  }
}
