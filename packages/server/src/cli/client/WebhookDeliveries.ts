import { setTimeout as sleep } from "node:timers/promises"
import { Args, Command, Options } from "@effect/cli"
import { Option } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { attempt, connect } from "./Remote.js"

/** Milliseconds between two looks at the test, and how long it may take: an attempt ends within 15 seconds, and others may be before it. */
const [lookMs, patienceMs] = [200, 60_000]

export const sendTest = Command.make(
  "test",
  {
    endpoint: Args.text({ name: "endpoint" }).pipe(Args.withDescription("The id of an endpoint")),
    json: Options.boolean("json").pipe(Options.withDescription("The delivery with its attempt as a line of JSON"))
  },
  ({ endpoint, json }) =>
    attempt(async () => {
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
    })
).pipe(Command.withDescription("Send a test to a webhook endpoint and tell its answer. Exits with 1 when it fails"))

const time = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

export const redeliver = Command.make(
  "redeliver",
  {
    of: Args.text({ name: "of" }).pipe(Args.withDescription("The id of a delivery; or of an endpoint, with --since")),
    since: time("since", "Deliveries of the endpoint since then: a time as 2026-11-23T08:00Z, or 90m, 12h or 3d ago"),
    until: time("until", "Only deliveries before then, in the same forms (now)"),
    state: Options.choice("state", ["failed", "succeeded"]).pipe(
      Options.withDescription("Those that have failed, or those that got through (failed)"),
      Options.withDefault("failed" as const)
    )
  },
  ({ of, since, state, until }) =>
    attempt(async () => {
      const { reins } = await connect()
      if (of.startsWith("whd_")) {
        if (Option.isSome(since) || Option.isSome(until))
          throw new CommandFailed({
            message: `${of} is one delivery. --since and --until go with the id of an endpoint.`
          })
        await reins.webhooks.retryDelivery({ webhook_delivery_id: of })
        return tell(`It is delivered again. See: reins webhooks deliveries ${of}`)
      }
      if (Option.isNone(since))
        throw new CommandFailed({ message: "Say since when, as in --since 12h, or give the id of a delivery." })
      const { count } = await reins.webhooks.retryDeliveries({
        webhook_endpoint_id: of,
        since: timeOf(since.value),
        ...(Option.isSome(until) && { until: timeOf(until.value) }),
        state
      })
      tell(`${count === 1 ? "1 delivery is" : `${count} deliveries are`} made again.`)
    })
).pipe(Command.withDescription("Deliver again: one delivery, or what has failed at an endpoint since a time"))

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
