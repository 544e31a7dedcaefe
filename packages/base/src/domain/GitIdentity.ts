import { Schema } from "effect"
import { field } from "./Field.js"

/** The characters that end a name or an address in a commit. */
const plain = /^[^<>\p{Cc}]*$/u

export const GitIdentity = Schema.Struct({
  name: field(
    Schema.Trim.pipe(
      Schema.minLength(1),
      Schema.maxLength(200),
      Schema.pattern(plain, { message: () => "Input should be a name without <, > and line breaks" })
    ),
    "The name that commits show, at most 200 characters."
  ),
  email: field(
    Schema.Trim.pipe(
      Schema.minLength(3),
      Schema.maxLength(254),
      Schema.pattern(/^[^\s<>\p{Cc}]+@[^\s<>\p{Cc}]+$/u, { message: () => "value is not a valid email address" })
    ),
    "The address that commits show, at most 254 characters."
  )
}).annotations({ identifier: "GitIdentity", description: "A name and an address, as git writes them in a commit." })
export type GitIdentity = typeof GitIdentity.Type

/** The name and the address in a text that has the second in angle brackets. */
export const identityFrom = (text: string): GitIdentity => {
  const at = text.lastIndexOf("<")
  return { name: text.slice(0, at).trim(), email: text.slice(at + 1).replace(/>$/, "") }
}

/** A name and an address as they stand in a commit. */
export const identityText = ({ email, name }: GitIdentity): string => `${name} <${email}>`
