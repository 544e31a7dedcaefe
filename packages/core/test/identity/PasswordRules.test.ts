import { assert, describe, it } from "@effect/vitest"
import { check, weakness } from "@reins/core/identity/PasswordRules"
import { Effect, Redacted } from "effect"

const email = "ada.lovelace@example.com"

describe("PasswordRules", () => {
  it("passwords that are guessed first are refused in all their disguises", () => {
    const common = [
      "password",
      "Password1",
      "P@ssw0rd!",
      "PASSWORD2024",
      "12345678",
      "87654321",
      "123456789012",
      "qwertyuiop",
      "poiuytre",
      "1qaz2wsx",
      "iloveyou2",
      "letmein!!",
      "Welcome2026!",
      "summer2025",
      "aaaaaaaaaa",
      "abcabcabc",
      "abcdefghij",
      "zyxwvuts",
      "adm1n1strator",
      "dragon12",
      "!!football!!"
    ]
    for (const password of common) assert.strictEqual(weakness(password, email), "too_common", password)
  })

  it("a password is not the address nor its local part", () => {
    for (const password of [email, "ada.lovelace", "ADA.Lovelace@example.com"]) {
      assert.strictEqual(weakness(password, email), "like_email", password)
    }
  })

  it("ordinary passwords of any make are accepted, up to 1024 bytes", () => {
    const good = [
      "correct horse",
      "xkq7vbn2",
      "a quiet heron at noon",
      "Passwordless tomorrow",
      "пароль от сарая",
      "kaffee und kuchen",
      "9f86d081",
      "My dragon eats qwerty",
      "x".repeat(16) + "y".repeat(1008)
    ]
    for (const password of good) assert.isUndefined(weakness(password, email), password)
    assert.strictEqual(weakness(`${"ü".repeat(512)}x`, email), "too_long")
  })

  it.effect("the failure says where and why, and does not hold the password", () =>
    Effect.gen(function* () {
      for (const password of ["Password1", "short", `${"ü".repeat(512)}x`, "ada.lovelace"]) {
        const error = yield* Effect.flip(check(Redacted.make(password), email))
        assert.deepStrictEqual(error.loc, ["body", "password"])
        assert.notInclude(JSON.stringify(error), password)
        assert.strictEqual(error.input, "**********")
      }
      yield* check(Redacted.make("a quiet heron at noon"), email)
    })
  )
})
