import { assert, describe, it } from "@effect/vitest"
import * as Keyset from "@reins/core/store/Keyset"
import { Effect } from "effect"

describe("Keyset", () => {
  const list = Array.from({ length: 7 }, (_, index) => ({ ordinal: index + 1 }))
  const pageAfter = (cursor: string | undefined, limit: number) =>
    Effect.map(Keyset.decodeOrdinal(cursor), (after) =>
      Keyset.page(list.filter((row) => row.ordinal > (after ?? 0)).slice(0, limit + 1), limit, (row) => row.ordinal)
    )

  it.effect("following next_cursor visits every item once, in order, and ends with null", () =>
    Effect.gen(function* () {
      for (const limit of [1, 2, 3, 6, 7, 8]) {
        const seen: Array<number> = []
        let cursor: string | null | undefined
        while (cursor !== null) {
          const page = yield* pageAfter(cursor, limit)
          assert.isAtMost(page.items.length, limit)
          seen.push(...page.items.map((row) => row.ordinal))
          cursor = page.next_cursor
        }
        assert.deepStrictEqual(seen, [1, 2, 3, 4, 5, 6, 7])
      }
    })
  )

  it.effect("an empty list is one empty page", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        Keyset.page([], 50, () => ""),
        { items: [], next_cursor: null }
      )
    )
  )

  it.effect("a cursor that no list gave out is invalid_cursor", () =>
    Effect.gen(function* () {
      const good = Keyset.page([{ id: "a" }, { id: "b" }], 1, (row) => row.id).next_cursor ?? ""
      for (const cursor of ["", "x", "garbage!", `${good}=`, `${good}A`, good.slice(1), "MTp_%00"]) {
        const error = yield* Effect.flip(Keyset.decode(cursor))
        assert.strictEqual(error.code, "invalid_cursor", cursor)
      }
      assert.strictEqual(yield* Keyset.decode(good), "a")
      const error = yield* Effect.flip(Keyset.decodeOrdinal(good))
      assert.strictEqual(error.code, "invalid_cursor")
      // Made up in the form of one, with what PostgreSQL does not take.
      const forged = (key: string) => Buffer.from(`1:${key}`).toString("base64url")
      assert.strictEqual((yield* Effect.flip(Keyset.decode(forged("a\u0000b")))).code, "invalid_cursor")
      assert.strictEqual((yield* Effect.flip(Keyset.decodeOrdinal(forged("2147483648")))).code, "invalid_cursor")
      assert.strictEqual(yield* Keyset.decodeOrdinal(forged("2147483647")), 2_147_483_647)
    })
  )

  it("a limit is 50 when absent and kept within 1 and 200", () => {
    assert.deepStrictEqual([{}, { limit: 0 }, { limit: 7 }, { limit: 1000 }].map(Keyset.pageLimit), [50, 1, 7, 200])
  })
})
