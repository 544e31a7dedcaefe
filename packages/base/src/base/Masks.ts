// Blanks what looks like a secret in texts of others, in a time that grows with the length of the text.

/** A private key, with all that follows one that does not end. */
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g

/** Keys and tokens that are known by their beginnings. */
const tokens: ReadonlyArray<RegExp> = [
  /\b(?:rk_|rsh_|whsec_|gh[pousr]_|github_pat_|glpat-|gto_|sk-|sk_live_|rk_live_|npm_|hf_|xox[abprs]-)[\w-]{20,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{35}/g
]

/** Shorter and rarer ones, and keys on one line. Ordinary code has names of this form, so only messages are judged by it. */
const shortTokens =
  /\b(?:gh[a-z]_\w{16,}|github_pat_\w{16,}|gl[a-z]{2,5}-[\w.-]{16,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|[rs]k[-_][\w-]{16,}|npm_\w{30,})|-----BEGIN [A-Z ]*PRIVATE KEY-----.*/g

/** The user part of addresses, as in `https://user:password@host`. */
const users = /:\/\/[^\s/@"']+@/g

/** Words that are long enough for a signed token, which has a header, a payload and a signature with dots between. */
const longWords = /[\w.-]{21,}/g
const header = /\beyJ/
const [shortestHeader, shortestPayload] = [11, 8]

const blankSigned = (word: string, blank: string): string => {
  const parts = word.split(".")
  let from = 0
  for (const [at, part] of parts.entries()) {
    // The first header of a part is the longest, so no other one of the part has to be tried.
    const begin = part.search(header)
    const isLong = begin >= 0 && part.length - begin >= shortestHeader
    if (isLong && (parts[at + 1] ?? "").length >= shortestPayload && parts[at + 2] !== undefined)
      return word.slice(0, from + begin) + blank
    from += part.length + 1
  }
  return word
}

const blankAllSigned = (text: string, blank: string): string =>
  text.includes("eyJ") ? text.replace(longWords, (word) => blankSigned(word, blank)) : text

/** Blanks private keys. A text has to be whole for it, because a key has many lines. */
export const blankKeys = (text: string, blank: string): string => text.replace(privateKey, blank)

/** Blanks the user part of addresses. */
export const blankUsers = (text: string, blank: string): string => text.replace(users, `://${blank}@`)

/** Blanks tokens, and the user part of addresses. No secret of these forms has white space, so a text may be given in pieces that end at it. */
export const blankTokens = (text: string, blank: string): string =>
  blankUsers(
    blankAllSigned(
      tokens.reduce((rest, form) => rest.replace(form, blank), text),
      blank
    ),
    blank
  )

/** Blanks what looks like a secret in a message of one line, however short it is. Rules that find a secret may print it. */
export const blankInMessage = (line: string, blank: string): string =>
  blankTokens(blankAllSigned(line, blank).replace(shortTokens, blank), blank)
