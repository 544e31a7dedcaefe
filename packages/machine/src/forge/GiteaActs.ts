import { Effect, Schema } from "effect"
import { actsBy, draftStays, markedIn, postedIn, SaidComment } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import { draftTitle, readyTitle } from "./DraftTitles.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"
import { giteaLines } from "./GiteaLines.js"

const commentOf = ({ html_url, id }: typeof SaidComment.Type) => ({ forgeId: String(id), url: html_url })

const Request = Schema.Struct({
  title: Schema.String,
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

/** The operator of a forge may choose others. */
const draftWords = ["WIP:", "[WIP]"]

/** The first comment of a thread about a line; undefined for the talk. */
const lineOf = (thread: string | undefined): number | undefined => {
  const [, id] = /^line:(\d+)$/.exec(thread ?? "") ?? []
  return id === undefined ? undefined : Number(id)
}

/** The job that a status leads to; undefined for a status of another system. */
const jobOf = (url: string | null): string | undefined =>
  /\/actions\/runs\/\d+\/jobs\/(\d+)(?:$|[?#])/.exec(url ?? "")?.[1]

/** The acts around pull requests of Gitea and Forgejo. Older releases have no logs, and none begins a job anew. */
export const giteaActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/repos/${repository}`
  const { changed, log: readLog, read } = actsBy(ask)
  const lines = giteaLines(ask, root)
  return {
    log: Effect.fnUntraced(function* ({ url }) {
      const job = jobOf(url)
      if (job === undefined) return undefined
      const log = yield* readLog({ method: "GET", path: `${root}/actions/jobs/${job}/logs` })
      return checkLogOf(log, [])
    }),
    rerun: () => Effect.succeed(false),
    reply: (number, body, thread) => {
      const line = lineOf(thread)
      if (line !== undefined) return Effect.map(lines.answer(number, line, body), commentOf)
      return changed({ method: "POST", path: `${root}/issues/${number}/comments`, body: { body } }).pipe(
        Effect.flatMap(decodeAnswer(SaidComment)),
        Effect.map(commentOf)
      )
    },
    posted: Effect.fnUntraced(function* (number, mark, thread) {
      // The list of the talk has no pages.
      const found =
        lineOf(thread) === undefined
          ? yield* Effect.flatMap(read({ method: "GET", path: `${root}/issues/${number}/comments` }), postedIn)
          : yield* lines.all(number)
      const own = yield* markedIn(found, mark)
      return own === undefined ? undefined : commentOf(own)
    }),
    setDraft: Effect.fnUntraced(function* (number, draft) {
      const path = `${root}/pulls/${number}`
      const before = yield* Effect.flatMap(read({ method: "GET", path }), decodeAnswer(Request))
      if (before.draft === draft) return
      const title = draft ? draftTitle("WIP:", before.title) : readyTitle(draftWords, before.title)
      const after = yield* Effect.flatMap(changed({ method: "PATCH", path, body: { title } }), decodeAnswer(Request))
      if (after.draft !== draft) return yield* draftStays(draft)
    })
  }
}
