import type { OutboundAnswer } from "@reins/machine/outbound/Outbound"

/** The longest time for which an endpoint can ask to be left alone: the longest wait between two attempts. */
export const longestPauseMs = 24 * 60 * 60 * 1000

/**
 * The milliseconds that the `Retry-After` of an answer with 429 or 503 asks for, a day at most; 0 when it asks for nothing. Its date is told
 * from the `Date` of the same answer where that has one, because the two clocks may differ.
 */
export const retryAfterMs = (
  { headers, status }: Pick<OutboundAnswer, "headers" | "status">,
  nowMs: number
): number => {
  const text = headers["retry-after"]?.trim()
  if (text === undefined || (status !== 429 && status !== 503)) return 0
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestPauseMs)
  const until = httpDate(text)
  if (until === undefined) return 0
  return Math.min(Math.max(0, until - (httpDate(headers.date) ?? nowMs)), longestPauseMs)
}

/** A date as HTTP writes it, as `Sun, 06 Nov 1994 08:49:37 GMT`. `Date.parse` alone takes much else for a time. */
const httpDate = (text: string | undefined): number | undefined => {
  const millis =
    text !== undefined && /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)
      ? Date.parse(text)
      : Number.NaN
  return Number.isNaN(millis) ? undefined : millis
}
