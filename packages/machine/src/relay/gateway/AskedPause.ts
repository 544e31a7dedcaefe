import type { IncomingHttpHeaders } from "node:http"
import { cutText } from "@reins/base/base/CutText"
import { bounded } from "@reins/base/base/ForeignText"

const second = 1000
const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: second,
  m: 60 * second,
  h: 3600 * second,
  d: 24 * 3600 * second
}

/** A duration as `1h2m3.5s` or `350ms`, as gateways write it; null for any other text. */
const duration = (text: string): number | null => {
  const parts = [...cutText(text, 40).matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|[smhd])/g)]
  const isWhole = parts.length > 0 && parts.map(([whole]) => whole).join("") === text
  return isWhole ? parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ""] ?? 0), 0) : null
}

/** Seconds, a duration or a time; null for what is none of them. A time is told from the clock of the gateway, where it names that. */
const pauseIn = (text: string, nowMs: number): number | null => {
  if (/^\d{1,12}(?:\.\d{1,9})?$/.test(text)) return Number(text) * second
  const lasting = duration(text)
  if (lasting !== null) return lasting
  const at = text.length <= 40 && /\d{4}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

/** The limits of a gateway, by the headers that say what remains of them, with those that say when it is full again. */
const limits: ReadonlyArray<readonly [remaining: string, reset: string]> = [
  ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
  ["anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"],
  ["anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"]
]

/** The words before a duration, as in `Please try again in 7m12s.` */
const announced =
  /\b(?:try again|retry|available again|resets?) (?:in|after) ([\d.]{1,12} ?[a-z]{1,8}(?:[\d.]{1,12}[a-z]{1,2}){0,3})/i

/** Words as `5 minutes` as a duration. */
const shortened = (text: string): string =>
  text
    .replace(/^([\d.]+) ?(ms|s|m|h|d)[a-z]*$/i, (_, count, unit) => `${count}${String(unit).toLowerCase()}`)
    .replace(/\.$/, "")

const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value)?.trim()
}

/**
 * The milliseconds that a refusal asks to be left alone; null when it asks for nothing. It may say so in a header, in the details of its body, or in
 * words alone. The longest of the limits that are used up counts. No pause is longer than a month.
 */
export const askedPause = (headers: IncomingHttpHeaders, words: string | null, nowMs: number): number | null => {
  const asked = pauseAsked(headers, words, nowMs)
  return asked === null ? null : Math.min(asked, longestMs)
}

const longestMs = 31 * 24 * 3600 * second

const pauseAsked = (headers: IncomingHttpHeaders, words: string | null, nowMs: number): number | null => {
  const date = Date.parse(headerOf(headers, "date") ?? "")
  const now = Number.isNaN(date) ? nowMs : date
  const millis = headerOf(headers, "retry-after-ms")
  if (millis !== undefined && /^\d{1,12}(?:\.\d{1,9})?$/.test(millis)) return Number(millis)
  const after = headerOf(headers, "retry-after")
  const asked = after === undefined ? null : pauseIn(after, now)
  if (asked !== null) return asked
  const full = limits.flatMap(([remaining, reset]) => {
    const pause = headerOf(headers, remaining) === "0" ? pauseIn(headerOf(headers, reset) ?? "", now) : null
    return pause === null ? [] : [pause]
  })
  if (full.length > 0) return Math.max(...full)
  const said = announced.exec(bounded(words ?? "", 500))?.[1]
  return said === undefined ? null : duration(shortened(said.trim()))
}
