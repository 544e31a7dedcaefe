import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { placeOf } from "../AnswerPlace.js"

/**
 * An index of scopes and keys, which are long and random, was most of what a mutation wrote. A place is a short digest of both, and the only
 * thing that an answer is found by.
 */
const tables: ReadonlyArray<string> = [
  "drop index idempotency_expiry",
  "alter table idempotency rename to idempotency_by_key",
  `create table idempotency (
    place text primary key,
    scope text not null,
    key text not null,
    fingerprint text not null,
    status integer not null,
    body text,
    sealed integer not null,
    expires_at text not null
  )`,
  "create index idempotency_expiry on idempotency (expires_at)"
]

interface Row {
  readonly scope: string
  readonly key: string
}

/** The rows that are moved at once. */
const page = 500

/** Moves the answers that there are, so that a request which is repeated after the step is answered as it was before. */
export const answerPlaces = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of tables) yield* sql.unsafe(statement)
  let after: Row = { scope: "", key: "" }
  while (true) {
    const rows =
      yield* sql<Row>`select scope, key, fingerprint, status, body, sealed, expires_at from idempotency_by_key
      where (scope, key) > (${after.scope}, ${after.key}) order by scope, key limit ${page}`
    const last = rows.at(-1)
    if (last === undefined) break
    yield* sql`insert into idempotency ${sql.insert(rows.map((row) => ({ place: placeOf(row), ...row })))}`
    after = last
  }
  yield* sql`drop table idempotency_by_key`
})
