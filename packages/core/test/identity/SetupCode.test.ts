import { assert, layer as withLayer } from "@effect/vitest"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import {
  countRows,
  goodPassword,
  identity,
  newClient,
  newEmail,
  nextMail,
  tokenIn
} from "@reins/testing/identity/Identity"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`the setup code on ${name}`, (it) => {
    it.effect("makes the first account without a mail, however it is typed, and is good for nothing afterwards", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const code = (yield* accounts.setupCode) ?? assert.fail("there is no code")
        assert.match(code, /^(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/)
        assert.strictEqual(yield* accounts.setupCode, code)
        const email = newEmail()
        const register = (setup_code: string, address = email) =>
          accounts.register({ email: address, password: goodPassword, display_name: "Ann", setup_code }, newClient())
        for (const wrong of ["0", code.slice(1), `${code}0`, [...code].reverse().join("")])
          assert.strictEqual((yield* Effect.flip(register(wrong)))._tag, "ReinsError")

        // A stranger who has begun with the address leaves no way in: neither with the password nor with the link.
        yield* accounts.register({ email, password: "a stranger was here first" }, newClient())
        const stranger = tokenIn(yield* nextMail(email))
        const typed = code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")
        assert.deepStrictEqual(yield* register(typed), { status: "verified" })
        const account = yield* accounts.get(email)
        assert.deepInclude(account, { state: "active", display_name: "Ann" })
        assert.strictEqual(yield* countRows("workspace_members", "account_id", account.id), 1)
        yield* (yield* LoginSessions).login({ email, password: goodPassword }, newClient())
        const late = yield* Effect.flip(accounts.verifyEmail({ token: stranger }))
        assert.strictEqual(late.code, "token_expired")

        assert.isNull(yield* accounts.setupCode)
        for (const address of [newEmail(), email]) {
          const refused = yield* Effect.flip(register(code, address))
          assert.deepInclude(refused, { _tag: "ReinsError", code: "token_expired" })
        }
        yield* accounts.disable(account.id)
        assert.isNull(yield* accounts.setupCode)
      })
    )
  })
}
