import { Connections } from "@reins/core/connections/Connections"
import { byStatus } from "@reins/machine/harness/acp/Failures"
import { Effect } from "effect"
import type { Step } from "reins-example-scripted-gateway/gateway.mjs"
import { credentialOf, endOf, finding, type Ground, newSession, type Ran, run } from "./Ground.js"

/** More calls than these are an agent that asks without an end. A few are on their way when it is stopped. */
const mostCalls = 35

/** A refusal or a broken answer that never ends, and the reason that the turn is to fail with; any when it is undefined. */
interface Trouble {
  readonly check: string
  readonly step: Step
  readonly reason?: string
}

const statuses: ReadonlyArray<Step & { readonly error: number }> = [
  { error: 400 },
  { error: 401 },
  { error: 402 },
  { error: 429, retry_after: 1 },
  { error: 500 }
]

const troubles: ReadonlyArray<Trouble> = [
  ...statuses.map((step) => ({
    check: `status ${step.error}`,
    step,
    // A 400 tells of the request, and an agent may have a better word for it.
    ...(step.error !== 400 && { reason: byStatus(step.error).reason })
  })),
  { check: "dropped answer", step: { drop: true } },
  { check: "garbled answer", step: { garble: "<html>This is no model.</html>" } }
]

/** Every refusal and every broken answer fails the turn, with the reason that the gateway gave and after a few calls. */
export const failing = (ground: Ground) =>
  Effect.forEach(troubles, (trouble) => facing(ground, trouble), { concurrency: 2 })

const facing = Effect.fnUntraced(function* (ground: Ground, { check, reason, step }: Trouble) {
  const ran = yield* run(ground, yield* newSession(ground), { words: "Try.", steps: [step] })
  const isTold = ran.turn.state === "failed" && (reason === undefined || ran.turn.reason === reason)
  return finding(check, null, isTold && ran.asked.length <= mostCalls, `${endOf(ran)}${callsOf(ran)}`)
})

const callsOf = ({ asked }: Ran): string => ` (${asked.length} ${asked.length === 1 ? "call" : "calls"})`

/** A gateway that never answers: the turn ends by its deadline. The core of this ground has a short one. */
export const hanging = Effect.fnUntraced(function* (ground: Ground) {
  const ran = yield* run(ground, yield* newSession(ground), { words: "Wait.", steps: [{ hang: true }] })
  return finding("no answer", null, ran.turn.state === "failed" && ran.turn.reason === "timeout", endOf(ran))
})

/** The words of a prompt to which the gateway answers once that it is asked too often, and then well. */
const busy = "The gateway is busy once."

/** The plan of the gateway for prompts without a script. */
export const plan = () => {
  const refused = new Set<string>()
  return (messages: ReadonlyArray<{ readonly role: string; readonly text: string }>): Array<Step> | null => {
    const asked = messages.findLast(({ role, text }) => role === "user" && text.includes(busy))?.text
    if (asked === undefined) return null
    if (refused.has(asked)) return [{ say: "Here I am." }]
    refused.add(asked)
    return [{ error: 429, retry_after: 1 }]
  }
}

/** One refusal with a `Retry-After`: the turn goes on after it, or says that it was refused. */
export const retrying = Effect.fnUntraced(function* (ground: Ground) {
  const ran = yield* run(ground, yield* newSession(ground), { words: busy, steps: [] })
  const isRefused = ran.turn.state === "failed" && ran.turn.reason === "quota_exhausted"
  return finding("retry after", null, ran.turn.state === "succeeded" || isRefused, `${endOf(ran)}${callsOf(ran)}`)
})

/** A key that the gateway refuses fails the turn, and with a good one the same session goes on. */
export const wrongKey = Effect.fnUntraced(function* (ground: Ground) {
  const place = yield* newSession(ground, { key: "sk-a-key-that-nobody-knows" })
  const refused = yield* run(ground, place, { words: "Try.", steps: [{ say: "It worked." }] })
  yield* (yield* Connections).replaceCredential(place.principal, place.connectionId, {
    credential: credentialOf(ground, ground.key)
  })
  const mended = yield* run(ground, place, { words: "Try again.", steps: [{ say: "It works." }] })
  return [
    finding(
      "wrong key",
      null,
      refused.turn.state === "failed" && refused.turn.reason === "credential_invalid",
      endOf(refused)
    ),
    finding(
      "mended key",
      null,
      mended.turn.state === "succeeded",
      `with a good key the session goes on: ${endOf(mended)}`
    )
  ]
})
