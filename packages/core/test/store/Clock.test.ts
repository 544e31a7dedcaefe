import { assert, describe, it } from "@effect/vitest"
import { ascendFrom, newId, SessionId } from "@reins/base/domain/Ids"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { Vault } from "@reins/base/secrets/Vault"
import * as Throttle from "@reins/core/identity/Throttle"
import { tables } from "@reins/core/Rooms"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import * as NewestIds from "@reins/core/store/NewestIds"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Layer, Schema, TestClock } from "effect"
import { TypeID } from "typeid-js"

const day = 24 * 60 * 60 * 1000

/** An id that was made while the clock was ahead. */
const idAt = (prefix: string, ms: number) => {
  const bytes = Buffer.alloc(16, 0)
  bytes.writeUIntBE(ms, 0, 6)
  bytes[6] = 0x70
  bytes[8] = 0x80
  return TypeID.fromUUIDBytes(prefix, bytes).toString()
}

describe("ids", () => {
  it.effect("they are well formed, and each is above the one before, whatever the millisecond", () =>
    Effect.gen(function* () {
      let last = ""
      for (let count = 0; count < 20_000; count++) {
        const id = yield* newId(SessionId)
        assert.isAbove(id.localeCompare(last), 0)
        last = id
      }
      assert.strictEqual(yield* Schema.decodeUnknown(SessionId)(last), last)
    })
  )

  it.effect("they go on above one that was made with a clock ahead", () =>
    Effect.gen(function* () {
      const ahead = idAt("sess", Date.now() + day)
      assert.isBelow((yield* newId(SessionId)).localeCompare(ahead), 0)
      yield* ascendFrom(ahead)
      assert.isAbove((yield* newId(SessionId)).localeCompare(ahead), 0)
      yield* ascendFrom(idAt("sess", Date.now()))
      assert.isAbove((yield* newId(SessionId)).localeCompare(ahead), 0)
    })
  )
})

for (const { layer, name } of databases) {
  describe(`a clock that went back, on ${name}`, () => {
    it.effect("a start takes the newest stored id for the least that new ones are above", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const ahead = idAt("wsp", Date.now() + 3 * day)
        yield* db.run(db.sql`insert into workspaces ${db.sql.insert({ id: ahead, name: "w", created_at: "then" })}`)
        yield* Effect.scoped(Layer.build(Layer.provide(NewestIds.layerOf(tables), Layer.succeed(Database, db))))
        assert.isAbove((yield* newId(SessionId)).slice(5).localeCompare(ahead.slice(4)), 0)
      }).pipe(Effect.provide(layer))
    )

    it.effect("nobody is shut out by what happened in the future", () =>
      Effect.gen(function* () {
        const throttle = yield* Throttle.make
        const journal = yield* Journal
        const mayMail = journal.commit(throttle.take(Throttle.mailLimit, "a@example.com"))
        yield* TestClock.setTime(day)
        for (let count = 0; count < 3; count++) assert.isTrue(yield* mayMail)
        assert.isFalse(yield* mayMail)
        yield* TestClock.setTime(0)
        assert.isTrue(yield* mayMail)
      }).pipe(
        Effect.provide(
          Layer.provideMerge(Layer.merge(Vault.layer, Journal.layer), Layer.merge(layer, KeyRing.layerMemory))
        )
      )
    )
  })
}
