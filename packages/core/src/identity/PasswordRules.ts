import { Effect, ParseResult, Redacted, Schema } from "effect"
import { NewPassword } from "../domain/Account.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { commonPasswords, commonWords } from "./CommonPasswords.js"

/** The reason why a password may not be chosen. */
export type PasswordWeakness = "too_long" | "like_email" | "too_common"

/**
 * The weakness of a password that has at least 8 characters; undefined when it may be chosen. No mix of characters is asked for. The
 * address is given as `normaliseEmail` makes it.
 */
export const weakness = (password: string, email: string): PasswordWeakness | undefined => {
  if (Buffer.byteLength(password, "utf8") > 1024) return "too_long"
  const text = password.normalize("NFC").toLowerCase()
  if (text === email || text === email.slice(0, email.indexOf("@"))) return "like_email"
  return isCommon(text) ? "too_common" : undefined
}

/**
 * Fails unless the password may be chosen for the account of this address. The failure names the field of the body that holds the
 * password, and does not hold the password itself.
 */
export const check = (
  password: Redacted.Redacted,
  email: string,
  field: "password" | "new_password" = "password"
): Effect.Effect<void, RequestInvalid> =>
  Schema.decodeUnknown(NewPassword)(Redacted.value(password)).pipe(
    Effect.mapError(() => lengthMessage),
    Effect.flatMap((text) => {
      const found = weakness(text, email)
      return found === undefined ? Effect.void : Effect.fail(messages[found])
    }),
    Effect.mapError((message) => new RequestInvalid({ loc: ["body", field], issue: issue(message), input: masked }))
  )

const masked = "**********"

const issue = (message: string) => new ParseResult.Type(NewPassword.ast, masked, message)

const lengthMessage = "A password has at least 8 characters and at most 1024 bytes"

const messages: Record<PasswordWeakness, string> = {
  too_long: lengthMessage,
  like_email: "The password is the e-mail address or a part of it; choose another one",
  too_common:
    "The password is one of those that are guessed first; choose another one, a few words in a row for example"
}

const isCommon = (text: string): boolean => {
  const core = withoutEnds(text)
  return (
    commonPasswords.has(text) ||
    [core, unLeet(core), withoutEnds(unLeet(text))].some((form) => commonWords.has(form)) ||
    isRepeated(text) ||
    isRun(text)
  )
}

/** The text without the digits and signs before and after it. */
const withoutEnds = (text: string): string => text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "")

/** The text with letters in the place of the digits and signs that stand for them. */
const unLeet = (text: string): string => text.replace(/[@4031!$57]/g, (sign) => leet.get(sign) ?? sign)

const leet = new Map(
  Object.entries({ "@": "a", "4": "a", "0": "o", "3": "e", "1": "i", "!": "i", $: "s", "5": "s", "7": "t" })
)

/** True for one short piece over and over: `aaaaaaaa`, `abcabcabc`. */
const isRepeated = (text: string): boolean => /^(.{1,4}?)\1+$/su.test(text)

/** True for a part of the alphabet, the digits or a row of the keyboard, forwards or backwards. */
const isRun = (text: string): boolean => {
  const backwards = Array.from(text).reverse().join("")
  return rows.some((row) => row.includes(text) || row.includes(backwards))
}

const rows = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890123456789",
  "qwertyuiopasdfghjklzxcvbnm",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm"
]
