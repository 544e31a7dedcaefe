import { assert, describe, it } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { requireMail, requireSamePaths } from "@reins/server/cli/operator/FitForSeveral"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"

describe("one of several machines", () => {
  it.effect("is refused without a mail server", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(requireMail({ smtpUrl: undefined }))
      assert.match(refused.message, /REINS_SMTP_URL/)
      yield* requireMail({ smtpUrl: Redacted.make("smtp://mail.example.com") })
    })
  )
})

for (const { layer, name } of databases) {
  describe(`the executor local on several machines, on ${name}`, () => {
    it.effect("needs one data directory on all of them, which the first one names", () =>
      Effect.gen(function* () {
        const db = yield* Database
        const node = (dataDir: string, isFirst = false) => requireSamePaths(db, { dataDir, isFirst })
        yield* node("/var/lib/reins", true)
        yield* node("/var/lib/reins")
        const refused = yield* Effect.flip(node("/srv/reins"))
        assert.match(
          refused.message,
          /the others have \/var\/lib\/reins, not \/srv\/reins: start this one with --data-dir/
        )
        // When all have ended, an installation may be moved.
        yield* node("/srv/reins", true)
        yield* Effect.flip(node("/var/lib/reins"))
      }).pipe(Effect.provide(layer))
    )
  })
}
