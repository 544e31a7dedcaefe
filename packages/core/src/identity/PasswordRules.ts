import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Redacted, Schema } from "effect"
import { NewPassword } from "./Account.js"
import { isGuessedFirst } from "./PasswordStrength.js"

/** The reason why a password may not be chosen. */
export type PasswordWeakness = "too_long" | "like_email" | "too_common"

/**
 * The weakness of a password that has at least 8 characters; undefined when it may be chosen. No mix of characters is asked for. The
 * address is given as `normaliseEmail` makes it.
 */
export const weakness = (password: string, email: string): Effect.Effect<PasswordWeakness | undefined> => {
  if (Buffer.byteLength(password, "utf8") > 1024) return Effect.succeed("too_long")
  const text = password.normalize("NFC")
  const [localPart = "", host = ""] = email.split("@")
  if ([email, localPart].includes(text.toLowerCase())) return Effect.succeed("like_email")
  const known = ["reins", email, localPart, ...localPart.split(/[^\p{L}]+/u), ...host.split(".")]
  return Effect.map(
    isGuessedFirst(
      text,
      known.filter((word) => word.length > 2)
    ),
    (isCommon) => (isCommon ? "too_common" : undefined)
  )
}

/**
 * Fails unless the password may be chosen for the account of this address. The failure names the field of the body that holds the
 * password, and does not hold the password itself.
 */
export const requireGoodPassword = (
  password: Redacted.Redacted,
  email: string,
  field: "password" | "new_password" = "password"
): Effect.Effect<void, RequestInvalid> =>
  Schema.decodeUnknown(NewPassword)(Redacted.value(password)).pipe(
    Effect.mapError(() => lengthMessage),
    Effect.flatMap((text) =>
      Effect.flatMap(weakness(text, email), (found) =>
        found === undefined ? Effect.void : Effect.fail(messages[found])
      )
    ),
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
