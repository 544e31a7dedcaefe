import { cutText } from "@reins/base/base/CutText"
import { adorns, foreignName } from "@reins/base/base/ForeignText"
import { ForeignUrl } from "@reins/base/base/ForeignUrl"
import { Schema } from "effect"
import type { RemoteAuthor } from "./ForgeView.js"

// The fields that the answers of all forges share. Fields that decide are strict, and fields that adorn are null if they cannot be read.

const longestTime = 64
const longestName = 255
const longestContext = 4_096
const longestPath = 4_096
const longestBody = 65_536

/** A time as the forge says it. */
export const Time = adorns(
  Schema.String.pipe(
    Schema.maxLength(longestTime),
    Schema.filter((text) => !Number.isNaN(Date.parse(text)))
  )
)

/** The id of a commit. It is compared with others, so anything else is none. */
export const CommitSha = Schema.String.pipe(Schema.pattern(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/))

/** A page for people. */
export const WebPage = adorns(ForeignUrl)

/** A text that is null where the forge has none. */
export const orNull = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(Schema.NullOr(schema), { default: () => null })

/** The exact name of a check. One that shows nothing is none. */
export const Context = Schema.String.pipe(
  Schema.maxLength(longestContext),
  Schema.filter((text) => foreignName(text, longestName) !== "" || "no name")
)

/** A name of a check for people. */
export const checkName = (context: string): string => foreignName(context, longestName)

/** The path of a file. PostgreSQL holds no NUL. */
export const Path = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(longestPath),
  Schema.filter((text) => !text.includes("\0"))
)

/** The text of a comment, at most 65,536 characters. PostgreSQL holds no NUL. */
export const bodyOf = (text: string | null | undefined): string =>
  cutText(text ?? "", longestBody).replaceAll("\0", "\ufffd")

/**
 * The name of an account. A name with characters that nobody sees stands in quotation marks, so that it looks like no other and is no account that the
 * forge could be asked about.
 */
export const loginOf = (login: string): string => {
  const seen = foreignName(login, longestName)
  return seen === login ? login : foreignName(JSON.stringify(seen), longestName)
}

export const ForgeLogin = Schema.NonEmptyString

/** The forge names nobody: the account was removed. */
export const nobody: RemoteAuthor = { login: "ghost", isBot: false }
