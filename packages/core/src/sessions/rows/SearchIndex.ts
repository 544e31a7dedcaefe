import type { Fragment } from "@effect/sql/Statement"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { scopeOf, searchWords, type Term } from "./Words.js"

type Kind = "title" | "message"

/** A session with its workspace. */
interface Owner {
  readonly id: SessionId
  readonly workspace_id: string
}

/**
 * The words of titles and messages, kept beside their text. Reins makes the words, so that both databases find the same: SQLite has them in FTS5, and
 * PostgreSQL in a `tsvector`. Each word is there twice. With its workspace before it a search finds it, so that no search meets a word of another
 * workspace. By itself the walk of `SessionSearch` finds it, and so does a release that knows of no workspaces.
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
    { id, workspace_id }: Owner,
    kind: Kind,
    text: string
  ): Effect.fn.Return<void, never, Commit> {
    const words = searchWords(text)
    if (words.length === 0) return
    const stored = [...words, ...scoped(workspace_id, words)].join(" ")
    const query = insert(id, kind, stored)
    if (db.dialect === "pg") return yield* db.run(query)
    const added = yield* db.first(query)
    if (added !== undefined) yield* db.runLast(insertWords(added.id, stored))
  })

  /** Deletes some rows, and gives their number. FTS5 needs the words that it has to forget, and takes them after all that it was given before. */
  const remove = Effect.fnUntraced(function* (where: Fragment): Effect.fn.Return<number, never, Commit> {
    const rows = yield* db.all(sql<{ id: number }>`select id from search_documents where ${where}`)
    if (rows.length === 0) return 0
    const those = sql.in(
      "id",
      rows.map(({ id }) => id)
    )
    if (db.dialect === "sqlite") yield* db.runLast(forgetting(db, those))
    yield* db.runLast(sql`delete from search_documents where ${those}`)
    return rows.length
  })

  return {
    /** Deletes some of the words of a session, at most those of `limit` texts, and gives the number of the texts. Words are slow to delete. */
    forget: (sessionId: SessionId, limit: number) => remove(sql`session_id = ${sessionId} order by id limit ${limit}`),
    addMessage: (session: Owner, text: string) => add(session, "message", text),
    addTitle: (session: Owner, title: string | null) => (title === null ? Effect.void : add(session, "title", title)),
    replaceTitle: (session: Owner, title: string | null) =>
      Effect.zipRight(
        remove(sql`session_id = ${session.id} and kind = 'title'`),
        title === null ? Effect.void : add(session, "title", title)
      )
  }
})

/** Words with their workspace before them. */
export const scoped = (workspaceId: string, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const scope = scopeOf(workspaceId)
  return words.map((word) => scope + word)
}

/** Has FTS5 forget the words of some rows of `search_documents`, which are still there. */
export const forgetting = ({ sql }: Database["Type"], rows: Fragment) =>
  sql`insert into search_words (search_words, rowid, words) select 'delete', id, words from search_documents where ${rows}`

const termsIn = (workspaceId: string, terms: ReadonlyArray<Term>): ReadonlyArray<Term> => {
  const scope = scopeOf(workspaceId)
  return terms.map(({ isPrefix, word }) => ({ isPrefix, word: scope + word }))
}

// A word has letters, marks and digits only, and a workspace has one dot more, so that no quote ends them.
const ftsOf = (terms: ReadonlyArray<Term>): string =>
  terms.map(({ isPrefix, word }) => `"${word}"${isPrefix ? " *" : ""}`).join(" ")
const tsqueryOf = (terms: ReadonlyArray<Term>): string =>
  terms.map(({ isPrefix, word }) => `'${word}'${isPrefix ? ":*" : ""}`).join(" & ")

/** The condition of sessions whose title or one of whose messages has every word, by the index of their workspace. */
export const isInIndex = ({ sql }: Database["Type"], workspaceId: string, terms: ReadonlyArray<Term>): Fragment =>
  sql`sessions.id in (select search_documents.session_id from search_words
    join search_documents on search_documents.id = search_words.rowid
    where search_words match ${ftsOf(termsIn(workspaceId, terms))})`

/** The number of texts in the index of a workspace that have every word, up to a limit. */
export const countInIndex = (
  { first, sql }: Database["Type"],
  workspaceId: string,
  terms: ReadonlyArray<Term>,
  limit: number
): Effect.Effect<number> =>
  Effect.map(
    first(sql<{ count: number }>`select count(*) as count from (
      select rowid from search_words where search_words match ${ftsOf(termsIn(workspaceId, terms))} limit ${limit})`),
    (row) => row?.count ?? 0
  )

/** The same condition on SQLite for rows of `search_documents`, by their words alone. */
export const hasWords = ({ sql }: Database["Type"], terms: ReadonlyArray<Term>): Fragment =>
  sql.and(
    terms.map(({ isPrefix, word }) =>
      isPrefix ? sql`instr(' ' || words, ${` ${word}`}) > 0` : sql`instr(' ' || words || ' ', ${` ${word} `}) > 0`
    )
  )

/**
 * The same condition on PostgreSQL. The texts after `scopedThrough` may be those of a release that knows of no workspaces, and are found by their words
 * alone. They are read first, so that the index of all words is not asked.
 */
export const isInTexts = ({ sql }: Database["Type"], workspaceId: string, terms: ReadonlyArray<Term>): Fragment =>
  sql`sessions.id in (select session_id from search_documents
      where words @@ ${tsqueryOf(termsIn(workspaceId, terms))}::tsquery
    union all select session_id from (
      select session_id, words from search_documents where id > ${scopedThrough(sql)} offset 0) as late
      where words @@ ${tsqueryOf(terms)}::tsquery)`

/** The same condition while most texts are of such a release. */
export const isInPlainTexts = ({ sql }: Database["Type"], terms: ReadonlyArray<Term>): Fragment =>
  sql`sessions.id in (select session_id from search_documents where words @@ ${tsqueryOf(terms)}::tsquery)`

/** The newest text up to which all have their workspace. */
const scopedThrough = (sql: Database["Type"]["sql"]): Fragment =>
  sql`coalesce((select cast(value as bigint) from agreements where name = 'search_scoped'), 0)`

/** The number of texts after that one. */
export const lateTexts = ({ first, sql }: Database["Type"]): Effect.Effect<number> =>
  Effect.map(
    first(
      sql<{
        count: unknown
      }>`select coalesce((select max(id) from search_documents), 0) - ${scopedThrough(sql)} as count`
    ),
    (row) => Number(row?.count ?? 0)
  )
