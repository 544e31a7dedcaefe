import { assert, describe, it } from "@effect/vitest"
import { type PasswordWeakness, requireGoodPassword, weakness } from "@reins/core/identity/PasswordRules"
import { Effect, Redacted } from "effect"

const email = "ada.lovelace@example.com"

const eachIs = (found: PasswordWeakness | undefined, passwords: ReadonlyArray<string>) =>
  Effect.forEach(passwords, (password) =>
    Effect.map(weakness(password, email), (weak) => assert.strictEqual(weak, found, password))
  )

describe("PasswordRules", () => {
  it.effect("passwords that are guessed first are refused in all their disguises", () => {
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
    return eachIs("too_common", common)
  })

  it.effect("a password is not the address nor its local part", () =>
    eachIs("like_email", [email, "ada.lovelace", "ADA.Lovelace@example.com"])
  )

  it.effect("a password is no word about its owner with digits around it", () =>
    eachIs("too_common", ["Lovelace1815", "ada.lovelace1", "!example!2026", "reinsreins", "r3ins2026!!"])
  )

  it.effect("leaked passwords, dates and words of those who run servers are refused", () =>
    eachIs("too_common", [
      "root1234",
      "postgres!",
      "wachtwoord",
      "19.05.1984",
      "correcthorsebatterystaple",
      "drowssap1"
    ])
  )

  it.effect("ordinary passwords of any make are accepted, up to 1024 bytes", () => {
    const good = [
      "correct horse",
      "xkq7vbn2",
      "a quiet heron at noon",
      "Passwordless tomorrow",
      "пароль от сарая",
      "kaffee und kuchen",
      "9f86d081",
      "My dragon eats qwerty",
      "a quiet heron at noon".padEnd(1024, " and on")
    ]
    return Effect.zipRight(eachIs(undefined, good), eachIs("too_long", [`${"ü".repeat(512)}x`]))
  })

  it.effect("a password that is made to be looked at for long takes no longer than hashing it would", () =>
    Effect.gen(function* () {
      yield* weakness("the first loads the dictionaries", email)
      for (const text of ["1qaz2wsx", "p@s5w0rd", "4@8({[<369&#!1|0$5+7%2", "l33t$p34k!", "aB1!"]) {
        const begun = process.cpuUsage()
        yield* weakness(text.repeat(1024 / text.length), email)
        assert.isBelow(process.cpuUsage(begun).user / 1000, 500, text)
      }
    })
  )

  it.effect("the failure says where and why, and does not hold the password", () =>
    Effect.gen(function* () {
      for (const password of ["Password1", "short", `${"ü".repeat(512)}x`, "ada.lovelace"]) {
        const error = yield* Effect.flip(requireGoodPassword(Redacted.make(password), email))
        assert.deepStrictEqual(error.loc, ["body", "password"])
        assert.notInclude(JSON.stringify(error), password)
        assert.strictEqual(error.input, "**********")
      }
      yield* requireGoodPassword(Redacted.make("a quiet heron at noon"), email)
    })
  )
})
