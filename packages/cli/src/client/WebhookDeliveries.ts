import { setTimeout as sleep } from "node:timers/promises"
import { argument, choice, flag, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { remoteCommand } from "./Remote.js"

/** Milliseconds between two looks at the test, and how long it may take: an attempt ends within 15 seconds, and others may be before it. */
const [lookMs, patienceMs] = [200, 60_000]

export const sendTest = remoteCommand({
  takes: {
    endpoint: argument("endpoint", "The id of an endpoint"),
    json: flag("json", "The delivery with its attempt as a line of JSON")
  },
  details: "Exits with 1 when the test does not get through.",
  examples: [
    ["reins webhooks test whk_01h…", "Send a test and tell the answer"],
    ["reins webhooks test whk_01h… --json | jq .attempts", "The attempts alone"]
  ],
  run: async ({ endpoint, json }, connect) => {
    const { reins } = await connect()
    const { id } = await reins.webhooks.sendTest({ webhook_endpoint_id: endpoint })
    const until = performance.now() + patienceMs
    let delivery = await reins.webhooks.getDelivery({ webhook_delivery_id: id })
    while (delivery.state === "pending" && performance.now() < until) {
      await sleep(lookMs)
      delivery = await reins.webhooks.getDelivery({ webhook_delivery_id: id })
    }
    if (json) printJsonNow(delivery)
    const last = delivery.attempts.at(-1)
    if (delivery.state === "succeeded" && last !== undefined) {
      if (!json) tell(`It got through: ${last.status} after ${last.duration_ms} ms.`)
      return
    }
    const answer = last?.answer?.trim() ?? ""
    throw new CommandFailed({
      message:
        last === undefined
          ? `The test was not sent within ${patienceMs / 1000} seconds. See: reins webhooks deliveries ${id}`
          : `The test did not get through. ${last.error}${answer === "" ? "" : ` ${harmless(answer)}`}`
    })
  }
})

export const redeliver = remoteCommand({
  takes: {
    of: argument("id", "The id of a delivery; or of an endpoint, with --since"),
    since: option("since", "From then on: 2026-11-23T08:00Z, or 90m, 12h or 3d ago", { value: "time" }),
    until: option("until", "Before then, in the same forms (now)", { value: "time" }),
    state: choice("state", ["failed", "succeeded"], "Those that have failed, or those that got through (failed)")
  },
  examples: [
    ["reins webhooks redeliver whd_01h…", "One delivery"],
    ["reins webhooks redeliver whk_01h… --since 12h", "All that has failed in twelve hours"]
  ],
  run: async ({ of, since, state = "failed", until }, connect) => {
    const { reins } = await connect()
    if (of.startsWith("whd_")) {
      if (since !== undefined || until !== undefined)
        throw new CommandFailed({
          message: `${of} is one delivery. --since and --until go with the id of an endpoint.`
        })
      await reins.webhooks.retryDelivery({ webhook_delivery_id: of })
      return tell(`It is delivered again. See: reins webhooks deliveries ${of}`)
    }
    if (since === undefined)
      throw new CommandFailed({ message: "Say since when, as in --since 12h, or give the id of a delivery." })
    const { count } = await reins.webhooks.retryDeliveries({
      webhook_endpoint_id: of,
      since: timeOf(since),
      ...(until !== undefined && { until: timeOf(until) }),
      state
    })
    tell(`${count === 1 ? "1 delivery is" : `${count} deliveries are`} made again.`)
  }
})

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The instant that a text stands for: a date with a time of day, or so long ago. */
export const timeOf = (text: string, nowMs = Date.now()): string => {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const isTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const millis =
    count !== undefined ? nowMs - Number(count) * (unitMs[unit] ?? 0) : isTime ? Date.parse(text) : Number.NaN
  if (Number.isNaN(millis))
    throw new CommandFailed({
      message: `${text} is no time. Give one as 2026-11-23 or 2026-11-23T08:00Z, or 90m, 12h or 3d for so long ago.`
    })
  return new Date(millis).toISOString()
}
