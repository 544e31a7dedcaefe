// The two ways between this program and Slack: calls of Slack's Web API, and the proof that a request comes from Slack.

import { createHmac, timingSafeEqual } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"

/** A request that is older, in seconds, may be one that somebody has recorded. */
const longestAge = 300

/** True when Slack has signed exactly these bytes, not long ago. */
export const isFromSlack = ({ body, headers, signingSecret }) => {
  const timestamp = headers["x-slack-request-timestamp"] ?? ""
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > longestAge) return false
  const digest = createHmac("sha256", signingSecret).update(`v0:${timestamp}:`).update(body).digest("hex")
  const wanted = Buffer.from(`v0=${digest}`)
  const given = Buffer.from(headers["x-slack-signature"] ?? "")
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** Slack was reached, and does not do it. */
export class SlackRefusal extends Error {}

/**
 * Gives the function that calls a method of the Web API. It waits while Slack asks for a pause or is away, and tries `tries` times. It throws
 * a `SlackRefusal` when Slack says no.
 */
export const slackApi =
  ({ baseUrl = "https://slack.com/api", token }) =>
  async (method, args, tries = Number.POSITIVE_INFINITY) => {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(`${baseUrl}/${method}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json; charset=utf-8" },
        body: JSON.stringify(args),
        signal: AbortSignal.timeout(10_000)
      }).catch((error) => error)
      const isAway = response instanceof Error || response.status === 429 || response.status >= 500
      if (!isAway) {
        const answer = await response.json()
        if (!answer.ok) throw new SlackRefusal(`Slack refused ${method}: ${answer.error}`)
        return answer
      }
      if (attempt >= tries) throw new Error(`Slack did not answer ${method}`, { cause: response })
      const pause = response instanceof Error ? null : response.headers.get("retry-after")
      await sleep(pause === null ? Math.min(30_000, 500 * 2 ** attempt) : Number(pause) * 1000)
    }
  }

/** A text that Slack shows as it is: nothing in it mentions a person or a channel. */
export const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** The words of a message of Slack, without the mention of the bot at their beginning. */
export const wordsOf = (text) =>
  text
    .replace(/^\s*<@[A-Z0-9]+>\s*/, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")

/** A text in pieces that Slack shows in full. */
export const pieces = (text) => text.match(/[\s\S]{1,3500}/gu) ?? []

/** The first characters of a text, for places that Slack keeps short. */
export const short = (text, characters) => Array.from(text).slice(0, characters).join("")
