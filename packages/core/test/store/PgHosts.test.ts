import { assert, it } from "@effect/vitest"
import * as Postgres from "@reins/core/store/Postgres"
import { Effect, Layer, Redacted } from "effect"

it.effect("a program that embeds Reins is told that its URL names several hosts, and nothing is connected", () =>
  Effect.gen(function* () {
    for (const url of [
      "postgres://u:canary@127.0.0.1:9,127.0.0.1:10/reins",
      "postgres://one.invalid,two.invalid/reins"
    ]) {
      const { message } = yield* Effect.flip(Effect.scoped(Layer.build(Postgres.layerAsIs(Redacted.make(url)))))
      assert.match(message, /names several hosts.*primary server/)
      assert.notMatch(message, /canary|invalid/)
    }
  })
)
