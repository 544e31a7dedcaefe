import { Effect, Schema } from "effect"
import { actsBy, draftStays, markedIn, postedIn, SaidComment } from "./Acting.js"
import { checkLogOf } from "./CheckLogText.js"
import { draftTitle, readyTitle } from "./DraftTitles.js"
import { type Ask, decodeAnswer, type ForgeActs } from "./Forge.js"

const Request = Schema.Struct({
  title: Schema.String,
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

const perPage = 100
/** The newest come first, and one of ours is among the newest. */
const mostPages = 10

/** GitLab takes a line that begins with a slash as a command, such as `/merge`. */
const withoutCommands = (text: string): string => text.replace(/^([^\S\r\n\u2028\u2029]*)\/(?=\w)/gmu, "$1\u2060/")

/** Releases before 14 know the latter. Later ones show them as words of a title. */
const draftWords = ["Draft:", "[Draft]", "(Draft)"]
const olderWords = ["WIP:", "[WIP]"]

const titleOf = (title: string, draft: boolean): string => {
  if (draft) return draftTitle("Draft:", title)
  const ready = readyTitle(draftWords, title)
  return ready === title ? readyTitle(olderWords, title) : ready
}

const commentOf = ({ id }: typeof SaidComment.Type) => ({ forgeId: String(id), url: null })

/** The acts around merge requests of GitLab. The id of a status of a job is that of the job. */
export const gitLabActs = (ask: Ask, repository: string): ForgeActs => {
  const root = `/projects/${encodeURIComponent(repository)}`
  const { changed, done, log: readLog, read } = actsBy(ask)
  return {
    log: Effect.fnUntraced(function* ({ run }) {
      const log = yield* readLog({ method: "GET", path: `${root}/jobs/${run}/trace` })
      return checkLogOf(log, [])
    }),
    rerun: ({ run }) => done({ method: "POST", path: `${root}/jobs/${run}/retry` }),
    reply: (number, text, thread) => {
      const place = thread === undefined ? "notes" : `discussions/${encodeURIComponent(thread)}/notes`
      const body = withoutCommands(text)
      return changed({ method: "POST", path: `${root}/merge_requests/${number}/${place}`, body: { body } }).pipe(
        Effect.flatMap(decodeAnswer(SaidComment)),
        Effect.map(commentOf)
      )
    },
    // The notes are those of all threads.
    posted: Effect.fnUntraced(function* (number, mark) {
      for (let page = 1; page <= mostPages; page++) {
        const path = `${root}/merge_requests/${number}/notes?sort=desc&per_page=${perPage}&page=${page}`
        const found = yield* Effect.flatMap(read({ method: "GET", path }), postedIn)
        const own = yield* markedIn(found, mark)
        if (own !== undefined) return commentOf(own)
        if (found.items.length < perPage) return undefined
      }
      return undefined
    }),
    setDraft: Effect.fnUntraced(function* (number, draft) {
      const path = `${root}/merge_requests/${number}`
      const before = yield* Effect.flatMap(read({ method: "GET", path }), decodeAnswer(Request))
      if (before.draft === draft) return
      const title = titleOf(before.title, draft)
      const after = yield* Effect.flatMap(changed({ method: "PUT", path, body: { title } }), decodeAnswer(Request))
      if (after.draft !== draft) return yield* draftStays(draft)
    })
  }
}
