import { assert, describe, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

for (const { layer, name } of databases) {
  describe(`prepared statements on ${name}`, () => {
    it.effect("the text is made once, and each call binds its own values where they stand", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const { sql } = db
        let built = 0
        const query = db.prepare((first: string, second: string) => {
          built++
          return sql<{ a: string; b: string; c: string; d: string }>`select cast(${second} as text) as a,
            cast(${first} as text) as b, cast(${"always"} as text) as c, cast(${second} as text) as d`
        })
        assert.deepStrictEqual(yield* db.first(query("1", "2")), { a: "2", b: "1", c: "always", d: "2" })
        assert.deepStrictEqual(yield* db.first(query("3", "4")), { a: "4", b: "3", c: "always", d: "4" })
        assert.strictEqual(built, 1)
        assert.strictEqual(query("1", "2").prepared, query("3", "4").prepared)
      }).pipe(Effect.provide(layer))
    )

    it.effect("a row is bound by its names, whatever their order and number", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const { sql } = db
        let built = 0
        const insert = db.prepareRow((row) => {
          built++
          return sql`insert into accounts ${sql.insert(row)}`
        })
        const row = (id: string) => ({ id, email: `${id}@example.com`, password_hash: "x", state: "active" })
        const times = { created_at: "then", updated_at: "later" }
        yield* db.run(insert({ ...row("one"), ...times }))
        yield* db.run(insert({ ...times, ...row("two") }))
        yield* db.run(insert({ ...row("three"), ...times }))
        assert.strictEqual(built, 2)
        assert.deepStrictEqual(
          yield* db.all(sql`select id, email, state, created_at, updated_at from accounts order by id`),
          ["one", "three", "two"].map((id) => ({ id, email: `${id}@example.com`, state: "active", ...times }))
        )
      }).pipe(Effect.provide(layer))
    )
  })
}
