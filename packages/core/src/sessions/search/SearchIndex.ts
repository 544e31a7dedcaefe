import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"
import type { SessionId } from "../../domain/Ids.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { searchWords, type Term, termsOf } from "./Words.js"

type Kind = "title" | "message"

/**
 * The words of titles and messages, kept beside their text. Reins makes the words, so that both databases find the same: SQLite has them in FTS5, and
 * PostgreSQL in a `tsvector`.
 */
export const searchIndex = Effect.map(Database, (db) => {
  const { sql } = db
  const toColumn = (words: string) =>
    db.dialect === "pg" ? sql`array_to_tsvector(string_to_array(${words}, ' '))` : sql`${words}`
  const insert = db.prepare(
    (sessionId: string, kind: Kind, words: string) => sql<{ id: number }>`insert into search_documents
      (session_id, kind, words) values (${sessionId}, ${kind}, ${toColumn(words)}) returning id`
  )
  const insertWords = db.prepare(
    (id: number, words: string) => sql`insert into search_words (rowid, words) values (${id}, ${words})`
  )

  const add = Effect.fnUntraced(function* (
    sessionId: SessionId,
    kind: Kind,
    text: string
  ): Effect.fn.Return<void, never, Commit> {
    const words = searchWords(text).join(" ")
    if (words === "") return
    const query = insert(sessionId, kind, words)
    if (db.dialect === "pg") return yield* db.run(query)
    const added = yield* db.first(query)
    if (added !== undefined) yield* db.runLast(insertWords(added.id, words))
  })

  /** Deletes some rows, and gives their number. FTS5 needs the words that it has to forget, and takes them after all that it was given before. */
  const remove = Effect.fnUntraced(function* (where: Fragment): Effect.fn.Return<number, never, Commit> {
    const rows = yield* db.all(sql<{ id: number }>`select id from search_documents where ${where}`)
    if (rows.length === 0) return 0
    const those = sql.in(
      "id",
      rows.map(({ id }) => id)
    )
    if (db.dialect === "sqlite")
      yield* db.runLast(
        sql`insert into search_words (search_words, rowid, words) select 'delete', id, words from search_documents where ${those}`
      )
    yield* db.runLast(sql`delete from search_documents where ${those}`)
    return rows.length
  })

  return {
    /** Deletes some of the words of a session, at most those of `limit` texts, and gives the number of the texts. Words are slow to delete. */
    forget: (sessionId: SessionId, limit: number) => remove(sql`session_id = ${sessionId} order by id limit ${limit}`),
    addMessage: (sessionId: SessionId, text: string) => add(sessionId, "message", text),
    addTitle: (sessionId: SessionId, title: string | null) =>
      title === null ? Effect.void : add(sessionId, "title", title),
    replaceTitle: (sessionId: SessionId, title: string | null) =>
      Effect.zipRight(
        remove(sql`session_id = ${sessionId} and kind = 'title'`),
        title === null ? Effect.void : add(sessionId, "title", title)
      )
  }
})

/** The condition of sessions whose title or one of whose messages has every word of a text. A text without a word finds none. */
export const isFoundBy = ({ dialect, sql }: Database["Type"], text: string): Fragment => {
  const terms = termsOf(text)
  if (terms.length === 0) return sql.literal("1 = 0")
  return dialect === "pg"
    ? sql`sessions.id in (select session_id from search_documents
        where words @@ ${terms.map(pgTerm).join(" & ")}::tsquery)`
    : sql`sessions.id in (select search_documents.session_id from search_words
        join search_documents on search_documents.id = search_words.rowid
        where search_words match ${terms.map(sqliteTerm).join(" ")})`
}

// A word has letters, marks and digits only, so that no quote ends it.
const sqliteTerm = ({ isPrefix, word }: Term): string => `"${word}"${isPrefix ? " *" : ""}`
const pgTerm = ({ isPrefix, word }: Term): string => `'${word}'${isPrefix ? ":*" : ""}`
