import { shortened } from "./CutText.js"

// Makes the words of another program fit for messages.

// Rules that find a secret may print it.
const tokens =
  /\b(?:gh[a-z]_\w{16,}|github_pat_\w{16,}|gl[a-z]{2,5}-[\w.-]{16,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|[rs]k[-_][\w-]{16,}|npm_\w{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----.*/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences that colour a terminal.
const colours = /\u001b\[[0-9;?]*[ -/]*[@-~]/g

/** A text on one line, without colours, control characters and what looks like a token, at most `most` UTF-16 units. */
export const foreignWords = (text: string, most: number): string =>
  shortened(
    text
      .replace(colours, "")
      .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, " ")
      .replace(/\s+/g, " ")
      .trim()
      .replace(tokens, "***"),
    most
  )
