import type { Page, PageRequest } from "@reins/base/domain/Page"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"

/**
 * Pages of a list by the key of their last item, so that a page stays the same when items are added or removed before it. The
 * query selects `limit + 1` rows beyond the key in the order of the list. The extra row says that there is another page.
 */
export const defaultLimit = 50
export const maxLimit = 200

/** The number of items on a page: 1 to 200, 50 when the request does not say. */
export const pageLimit = (request: PageRequest): number =>
  Math.min(maxLimit, Math.max(1, Math.trunc(request.limit ?? defaultLimit)))

/** The key that a cursor was made from; undefined without a cursor. Fails with `invalid_cursor` for a text that is no cursor. */
export const decode = (cursor: string | undefined): Effect.Effect<string | undefined, ReinsError<"invalid_cursor">> => {
  if (cursor === undefined) return Effect.succeed(undefined)
  const text = Buffer.from(cursor, "base64url").toString("utf8")
  return wellFormed.test(text) && encode(text.slice(format.length)) === cursor
    ? Effect.succeed(text.slice(format.length))
    : Effect.fail(invalidCursor)
}

/** `decode` for a list that is ordered by a positive integer. */
export const decodeOrdinal = (
  cursor: string | undefined
): Effect.Effect<number | undefined, ReinsError<"invalid_cursor">> =>
  Effect.flatMap(decode(cursor), (key) => {
    if (key === undefined) return Effect.succeed(undefined)
    return /^\d{1,10}$/.test(key) && Number(key) <= maxOrdinal
      ? Effect.succeed(Number(key))
      : Effect.fail(invalidCursor)
  })

/** Bounds a page of a list of ids, newest first. The query selects `limit + 1` rows with an id below `before`. */
export const descending = (
  request: PageRequest
): Effect.Effect<{ readonly before: string; readonly limit: number }, ReinsError<"invalid_cursor">> =>
  // Above every id, in every collation: no id begins with z.
  Effect.map(decode(request.cursor), (key) => ({ before: key ?? "zzzz", limit: pageLimit(request) }))

/** Bounds a page of a list by ordinal. The query selects `limit + 1` rows with an ordinal above `after`. */
export const ascending = (
  request: PageRequest
): Effect.Effect<{ readonly after: number; readonly limit: number }, ReinsError<"invalid_cursor">> =>
  Effect.map(byOrdinal(request), ({ key, limit }) => ({ after: key ?? 0, limit }))

/** Bounds a page of a list by ordinal in either order. The query selects `limit + 1` rows beyond the key; from the beginning without one. */
export const byOrdinal = (
  request: PageRequest
): Effect.Effect<{ readonly key: number | undefined; readonly limit: number }, ReinsError<"invalid_cursor">> =>
  Effect.map(decodeOrdinal(request.cursor), (key) => ({ key, limit: pageLimit(request) }))

/** The page of at most `limit` rows, with the cursor of the next one when the query gave back more. */
export const page = <Row>(rows: ReadonlyArray<Row>, limit: number, keyOf: (row: Row) => string | number): Page<Row> => {
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return { items, next_cursor: last === undefined ? null : encode(String(keyOf(last))) }
}

/** The same page with its items in another form. */
export const map = <A, B>(page: Page<A>, f: (item: A) => B): Page<B> => ({
  items: page.items.map(f),
  next_cursor: page.next_cursor
})

const format = "1:"

/** Keys are ids and numbers. Another text was made up, and a database may not take it as text. */
const wellFormed = /^1:[\w-]+$/

/** The largest value of an integer column. */
export const maxOrdinal = 2 ** 31 - 1

const encode = (key: string): string => Buffer.from(`${format}${key}`, "utf8").toString("base64url")

export const invalidCursor = new ReinsError({
  code: "invalid_cursor",
  message: "This cursor is not one that a list gave out. Use a next_cursor unchanged, or leave it out to start again."
})
