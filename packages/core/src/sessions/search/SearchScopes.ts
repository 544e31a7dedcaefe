import type { SessionId } from "@reins/base/domain/Ids"
import { Context, Effect, Layer } from "effect"
import { agree, currentAgreement } from "../../store/Agreements.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import * as Loop from "../../store/Loop.js"
import { forgetting, scoped } from "../rows/SearchIndex.js"
import { scopeOf } from "../rows/Words.js"

/** The texts that a round looks at, and the most that it changes. */
const batch = 400
const perCommit = 50

/** The newest texts that are looked at again, because a commit of another process may come late. */
const lateTexts = 200

/** The texts of this process after which the place is noted, so that the next process begins there. */
const notedEach = 1_000

/** The part of the time that the event loop is left to others while texts of earlier releases get their workspace. */
const restsPerWork = 4
const leastRestMs = 5

/** The longest time until a text of an earlier release that works beside this one is found by the index, in milliseconds. */
const everyMs = 5_000

/** A text of the search as it is stored. */
interface StoredText {
  readonly id: number
  readonly session_id: SessionId
  readonly workspace_id: string
  readonly words: string
}

/**
 * Puts the workspace before the words of texts that an earlier release has written, some at a time. On SQLite no other process writes any, so that all
 * have their workspace once the newest was reached.
 */
export class SearchScopes extends Context.Tag("@reins/core/sessions/search/SearchScopes")<
  SearchScopes,
  {
    /** True on SQLite once every text has its workspace. */
    readonly isWhole: () => boolean
    /** Does the next texts, and gives the time to rest before the following ones. */
    readonly proceed: Effect.Effect<Loop.Pause | undefined>
  }
>() {
  static readonly layer = Layer.effect(
    SearchScopes,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const { sql } = db
      let isWhole = false
      let seen = -1

      const next = (after: number) =>
        db.all(sql<StoredText>`select search_documents.id, session_id, sessions.workspace_id,
            ${sql.literal(db.dialect === "pg" ? "array_to_string(tsvector_to_array(words), ' ')" : "words")} as words
          from search_documents join sessions on sessions.id = session_id
          where search_documents.id > ${after} order by search_documents.id limit ${batch}`)
      const newest = Effect.map(
        db.first(sql<{ id: number | null }>`select max(id) as id from search_documents`),
        (row) => Number(row?.id ?? 0)
      )
      const place = Effect.map(currentAgreement(db, "search_scoped"), (stood) => Number(stood ?? 0))
      const note = (id: number) => agree(db, "search_scoped", String(id))

      /** Its number may be that of another text by now, so the words have to be those that were read. */
      const scope = ({ id, words, workspace_id }: StoredText) => {
        const plain = words.split(" ")
        const added = scoped(workspace_id, plain)
        if (db.dialect === "pg")
          return db.run(sql`update search_documents
            set words = words || array_to_tsvector(string_to_array(${fitting(words, added)}, ' ')) where id = ${id}`)
        const stored = [...plain, ...added].join(" ")
        const before = sql`id = ${id} and words = ${words}`
        const after = sql`id = ${id} and words = ${stored}`
        return db
          .runLast(forgetting(db, before))
          .pipe(
            Effect.zipRight(db.runLast(sql`update search_documents set words = ${stored} where ${before}`)),
            Effect.zipRight(
              db.runLast(
                sql`insert into search_words (rowid, words) select id, words from search_documents where ${after}`
              )
            )
          )
      }

      /** Every text of this process has its workspace from the beginning. */
      const follow = Effect.gen(function* () {
        const [at, last] = [yield* place, yield* newest]
        if (last - at > notedEach) yield* note(last)
        return undefined
      })

      const proceed = Effect.gen(function* () {
        if (isWhole) return yield* follow
        const startedAt = performance.now()
        const last = yield* newest
        if (last === seen) return undefined
        const after = yield* place
        const texts = yield* next(after)
        const missing = texts.filter(({ words, workspace_id }) => !words.includes(scopeOf(workspace_id)))
        const now = missing.slice(0, perCommit)
        if (now.length > 0) yield* journal.commit(Effect.forEach(now, scope, { discard: true }))
        const isCut = now.length < missing.length
        const isEnd = !isCut && texts.length < batch
        const through = Number((isCut ? now : texts).at(-1)?.id ?? 0) - (isEnd ? lateTexts : 0)
        if (through > after) yield* note(through)
        isWhole = isEnd && db.dialect === "sqlite"
        if (isEnd) seen = last
        return isEnd ? undefined : { waitMs: Math.max(leastRestMs, restsPerWork * (performance.now() - startedAt)) }
      })

      return SearchScopes.of({ isWhole: () => isWhole, proceed })
    })
  )

  /** Goes on in the background for as long as there is something to do. */
  static readonly worker = Layer.scopedDiscard(
    Effect.flatMap(SearchScopes, ({ proceed }) =>
      Loop.start({ failure: "texts of the search could not be given their workspace", everyMs, round: proceed })
    )
  )
}

/** As many words as PostgreSQL takes beside those that are there. */
const fitting = (words: string, added: ReadonlyArray<string>): string => {
  let bytes = Buffer.byteLength(words)
  return added
    .filter((word) => {
      bytes += Buffer.byteLength(word) + bytesOfPlace
      return bytes <= mostBytes
    })
    .join(" ")
}

const mostBytes = 1_000_000
const bytesOfPlace = 4
