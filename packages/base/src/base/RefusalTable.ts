// Reads a refusal of another program by its status, its headers and its words together. One table for each counterpart.

/** An answer that refuses. `words` are those of the body, on one line and bounded. */
export interface Refused {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly words: string
  /** The names that the counterpart gives its errors by, as a type and a code; absent where it has none. */
  readonly names?: string
}

/** Says who can change that: the owner of the credential, the operator of the service or of the network, or time alone. */
export type Mender = "person" | "operator" | "time"

/** One row of a table. Everything that it names has to fit. */
export interface RefusalRow<Kind extends string> {
  /** Any status when absent. */
  readonly status?: ReadonlyArray<number>
  /** A header that has to be there, in small letters, and the value that it has to have. */
  readonly header?: readonly [name: string, value?: string]
  /** One of these texts has to be in the names, in small letters. */
  readonly names?: ReadonlyArray<string>
  /** One of these texts has to be in the words, in small letters. Of a list in the list every text has to be there. */
  readonly words?: ReadonlyArray<string | ReadonlyArray<string>>
  /** The words have to fit this pattern, where texts do not tell enough. */
  readonly pattern?: RegExp
  readonly is: Kind
  readonly mender: Mender
  /** The pause in milliseconds where the answer names none. */
  readonly waitMs?: number
  /** Says what happened and what to do next, after the name of the counterpart. */
  readonly say: string | ((refused: Refused) => string)
}

/** The meaning of a refusal. */
export interface ReadRefusal<Kind extends string> {
  readonly kind: Kind
  readonly mender: Mender
  /** The milliseconds that the answer asks for, or that its row knows; null for none. */
  readonly waitMs: number | null
  readonly say: string
}

/** The first value of a header. */
export const headerOf = ({ headers }: Pick<Refused, "headers">, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : value?.[0]
}

/** Gives the function that reads a refusal by the first row of a table that fits; undefined for none. */
export const refusalOf =
  <Kind extends string>(table: ReadonlyArray<RefusalRow<Kind>>) =>
  (refused: Refused, nowMs: number): ReadRefusal<Kind> | undefined => {
    const said = { words: refused.words.toLowerCase(), names: refused.names?.toLowerCase() ?? "" }
    const row = table.find((each) => fits(each, refused, said))
    if (row === undefined) return undefined
    return {
      kind: row.is,
      mender: row.mender,
      waitMs: row.mender === "time" ? (pauseOf(refused, nowMs) ?? row.waitMs ?? null) : null,
      say: typeof row.say === "string" ? row.say : row.say(refused)
    }
  }

const isIn = (text: string) => (part: string | ReadonlyArray<string>) =>
  typeof part === "string" ? text.includes(part) : part.every((each) => text.includes(each))

const fits = (
  { header, names, pattern, status, words }: RefusalRow<string>,
  refused: Refused,
  said: { readonly words: string; readonly names: string }
): boolean => {
  if (status !== undefined && !status.includes(refused.status)) return false
  if (names !== undefined && !names.some(isIn(said.names))) return false
  if (words !== undefined && !words.some(isIn(said.words))) return false
  if (pattern !== undefined && !pattern.test(refused.words)) return false
  if (header === undefined) return true
  const value = headerOf(refused, header[0])
  return value !== undefined && (header[1] === undefined || value.trim() === header[1])
}

const longestPauseMs = 24 * 60 * 60_000

/** The milliseconds for which an answer asks to be left alone, at most a day. A budget that is not used up asks for nothing. */
export const pauseOf = (refused: Pick<Refused, "headers">, nowMs: number): number | undefined => {
  const after = headerOf(refused, "retry-after")?.trim()
  if (after !== undefined && after !== "") {
    const until = /^\d{1,12}$/.test(after) ? nowMs + Number(after) * 1000 : Date.parse(after)
    if (!Number.isNaN(until)) return within(until - nowMs)
  }
  const given = (name: string) =>
    (headerOf(refused, `x-ratelimit-${name}`) ?? headerOf(refused, `ratelimit-${name}`))?.trim()
  const reset = given("reset")
  if (given("remaining") !== "0" || reset === undefined || !/^\d{1,12}$/.test(reset)) return undefined
  // Some give the seconds since 1970, and some the seconds that are left.
  return within(Number(reset) > 1_000_000_000 ? Number(reset) * 1000 - nowMs : Number(reset) * 1000)
}

const within = (ms: number): number => Math.min(longestPauseMs, Math.max(0, ms))
