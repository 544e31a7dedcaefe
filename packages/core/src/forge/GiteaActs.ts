import { Effect, Schema } from "effect"
import { actsBy } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"

const Posted = Schema.Struct({
  id: Schema.Int,
  body: Schema.optional(Schema.NullOr(Schema.String)),
  html_url: Schema.optional(Schema.NullOr(Schema.String))
})

const commentOf = ({ html_url, id }: typeof Posted.Type) => ({
  forgeId: String(id),
  url: html_url === "" ? null : (html_url ?? null)
})

/** The job that a status leads to; undefined for a status of another system. */
const jobOf = (url: string | null): string | undefined =>
  /\/actions\/runs\/\d+\/jobs\/(\d+)(?:$|[?#])/.exec(url ?? "")?.[1]

/** The acts around pull requests of Gitea and Forgejo. Older releases have no logs, and none begins a job anew. */
export const giteaActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/repos/${repository}`
  const { changed, shown } = actsBy(ask)
  return {
    log: Effect.fnUntraced(function* ({ url }) {
      const job = jobOf(url)
      if (job === undefined) return undefined
      const log = yield* shown(ask.text({ method: "GET", path: `${root}/actions/jobs/${job}/logs` }))
      return log === undefined ? undefined : checkLogOf(log, [])
    }),
    rerun: () => Effect.succeed(false),
    reply: (number, body) =>
      changed({ method: "POST", path: `${root}/issues/${number}/comments`, body: { body } }).pipe(
        Effect.flatMap(decodeAnswer(Posted)),
        Effect.map(commentOf)
      ),
    // This list has no pages.
    posted: Effect.fnUntraced(function* (number, mark) {
      const answer = yield* shown(ask({ method: "GET", path: `${root}/issues/${number}/comments` }))
      const found = answer === undefined ? [] : yield* decodeAnswer(Schema.Array(Posted))(answer)
      const own = found.find(({ body }) => body?.includes(mark) === true)
      return own === undefined ? undefined : commentOf(own)
    })
  }
}
