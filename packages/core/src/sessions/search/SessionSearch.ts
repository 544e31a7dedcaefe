import { Effect } from "effect"
import { Database } from "../../store/Database.js"
import { countInIndex, hasWords, isInIndex, isInPlainTexts, isInTexts, lateTexts } from "../rows/SearchIndex.js"
import { type SessionFilter, type SessionPage, selectionOf } from "../rows/SessionFilters.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { SessionStore } from "../rows/SessionStore.js"
import { type Term, termsOf } from "../rows/Words.js"
import { SearchScopes } from "./SearchScopes.js"

/** With more texts than these the newest sessions are walked, because a page of them is full soon. */
const mostListed = 5_000

/** With more texts than these of earlier releases PostgreSQL looks in the index of all words. */
const mostLate = 10_000

/** The sessions of the steps of a walk, each of which is twice as long as the one before. One takes a few milliseconds of the event loop. */
const firstStep = 100
const longestStep = 1_000

/**
 * Finds the sessions of a workspace whose title or one of whose messages has every word of a text, newest first. Nothing of another workspace is looked at, so
 * that the time tells nothing of it.
 */
export const sessionSearch = Effect.gen(function* () {
  const db = yield* Database
  const sessions = yield* SessionStore
  const scopes = yield* SearchScopes
  const { sql } = db

  /** Looks at the words of the sessions themselves, step by step, until the page is full. */
  const walk = Effect.fnUntraced(function* (
    workspaceId: string,
    filter: SessionFilter,
    terms: ReadonlyArray<Term>,
    { before, limit }: SessionPage
  ) {
    const has = sql`exists (select 1 from search_documents where session_id = sessions.id and ${hasWords(db, terms)})`
    const ids: Array<string> = []
    let from = before
    for (let length = firstStep; ids.length < limit; length = Math.min(2 * length, longestStep)) {
      const { from: tables, where } = selectionOf(db, workspaceId, filter, { before: from, limit: length })
      const step = yield* db.all(
        sql<{ id: string; has: number }>`select sessions.id, ${has} as has from ${tables} where ${where}`
      )
      ids.push(...step.flatMap(({ has, id }) => (has === 1 ? [id] : [])))
      from = step.at(-1)?.id ?? from
      if (step.length < length) break
      yield* giveWay
    }
    const page = ids.slice(0, limit)
    if (page.length === 0) return []
    return yield* sessions.select({ where: sql`${sql.in("sessions.id", page)} order by sessions.id desc` })
  })

  return Effect.fnUntraced(function* (
    workspaceId: string,
    filter: SessionFilter,
    text: string,
    page: SessionPage
  ): Effect.fn.Return<ReadonlyArray<SessionRow>> {
    const terms = termsOf(text)
    if (terms.length === 0) return []
    const by = (found: SessionPage["found"]) =>
      sessions.select(selectionOf(db, workspaceId, filter, { ...page, ...(found && { found }) }))
    if (db.dialect === "pg")
      return yield* by(
        (yield* lateTexts(db)) > mostLate ? isInPlainTexts(db, terms) : isInTexts(db, workspaceId, terms)
      )
    const isListed = scopes.isWhole() && (yield* countInIndex(db, workspaceId, terms, mostListed + 1)) <= mostListed
    return yield* isListed ? by(isInIndex(db, workspaceId, terms)) : walk(workspaceId, filter, terms, page)
  })
})

/** Lets everything else that waits for the event loop go first. */
const giveWay = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
