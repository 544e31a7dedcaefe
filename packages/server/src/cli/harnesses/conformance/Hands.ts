import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Event } from "@reins/base/domain/Event"
import { liveState } from "@reins/core/execution/setup/AgentDigest"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Turns } from "@reins/core/sessions/Turns"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Effect } from "effect"
import { type Step, script } from "reins-example-scripted-gateway/gateway.mjs"
import { endOf, finding, type Ground, isSpoken, newSession, once, type Place, processesOf, run } from "./Ground.js"

const isTool = ({ type }: Event): boolean => type === "tool.started"

const isQuestion = ({ type }: Event): boolean => type === "turn.action_required"

const longSpeech: Step = { say: Array.from({ length: 300 }, (_, index) => `w${index}`).join(" "), slow_ms: 100 }

/** A turn that is cancelled at an event, and what is left of its agent. */
const cancelAt = Effect.fnUntraced(function* (
  ground: Ground,
  place: Place,
  { isDue, steps, where }: { isDue: (event: Event) => boolean; steps: ReadonlyArray<Step>; where: string }
) {
  const turns = yield* Turns
  let began = 0
  const ran = yield* run(ground, place, {
    words: "Work.",
    steps,
    onEvent: once(isDue, (turnId) => {
      began = Date.now()
      return Effect.ignore(turns.cancel(place.principal, turnId))
    })
  })
  const seconds = began === 0 ? null : Math.ceil((Date.now() - began) / 1000)
  const left = yield* processesOf(place.sessionId)
  // An agent that ends its turn by itself when it is told to is kept for the next one.
  const isKept = (yield* (yield* SessionStore).find(place.sessionId))?.agent.native_digest === liveState
  const rest =
    left.length === 0 ? "nothing is left" : isKept ? "the agent is kept" : `${left.length} processes are left`
  return finding(
    `cancel in ${where}`,
    null,
    ran.turn.state === "cancelled" && (left.length === 0 || isKept),
    `${endOf(ran)}${seconds === null ? ", and there was nothing to cancel" : ` within ${seconds} s`}; ${rest}`
  )
})

/** Turns that are cancelled: one while the agent speaks, and one while it runs a tool. */
export const cancelling = Effect.fnUntraced(function* (ground: Ground) {
  const place = yield* newSession(ground)
  // An agent that cannot resume is lost to a session once it was stopped.
  const other = ground.manifest.capabilities.native_resume === "supported" ? place : yield* newSession(ground)
  return [
    yield* cancelAt(ground, place, { where: "words", isDue: isSpoken, steps: [longSpeech] }),
    yield* cancelAt(ground, other, {
      where: "a tool",
      isDue: isTool,
      steps: [{ tool: "bash", cmd: "sleep 600" }, { say: "Slept." }]
    })
  ]
})

/** The words that are said to an agent in the midst of a tool reach its model in the same turn. */
export const steering = Effect.fnUntraced(function* (ground: Ground) {
  const messages = yield* Messages
  const place = yield* newSession(ground)
  let goesInto = false
  const ran = yield* run(ground, place, {
    words: "Work.",
    steps: [...Array.from({ length: 4 }, () => ({ tool: "bash", cmd: "sleep 1" })), { say: "Worked." }],
    onEvent: once(isTool, (turnId) =>
      Effect.gen(function* () {
        const said = { content: "Mind the MULBERRY.", routing: "steer" } as const
        const sent = yield* messages.send(place.principal, place.sessionId, said)
        goesInto = sent.turn_id === turnId
      })
    )
  })
  const isHeard = ran.worked.some((request) => request.messages.some(({ text }) => text.includes("MULBERRY")))
  return finding(
    "steer",
    "steer",
    ran.turn.state === "succeeded" && goesInto && isHeard,
    `${endOf(ran)}; the words were ${goesInto ? "taken into the turn" : "queued"} and ${isHeard ? "reached" : "did not reach"} its model`
  )
})

/** Words that stop a tool which would run for minutes; the same turn goes on with them. */
export const interrupting = Effect.fnUntraced(function* (ground: Ground) {
  const messages = yield* Messages
  const place = yield* newSession(ground)
  const ran = yield* run(ground, place, {
    words: "Wait.",
    steps: [{ tool: "bash", cmd: "sleep 600" }, { say: "Slept." }],
    onEvent: once(isTool, () =>
      messages.send(place.principal, place.sessionId, {
        content: script("Rather this.", { say: "This, then." }),
        routing: "interrupt"
      })
    )
  })
  const { items } = yield* messages.list(place.principal, place.sessionId, {})
  const isDone = JSON.stringify(items.at(-1)?.content ?? []).includes("This, then.")
  return finding(
    "interrupt",
    "interrupt",
    ran.turn.state === "succeeded" && isDone,
    `${endOf(ran)}; the agent ${isDone ? "left the tool and did what it was told" : "did not do what it was told"}`
  )
})

/** A turn whose questions all get the same kind of answer. */
const answering = Effect.fnUntraced(function* (ground: Ground, place: Place, kind: "allow_once" | "reject_once") {
  const interactions = yield* Interactions
  let count = 0
  const ran = yield* run(ground, place, {
    words: "Make the file.",
    steps: [{ tool: "bash", cmd: `echo made > ${kind}.txt`, ask: true }, { say: "Made it." }],
    onEvent: (event) =>
      !isQuestion(event)
        ? Effect.void
        : Effect.gen(function* () {
            const { items } = yield* interactions.list(place.principal, place.sessionId, { state: "pending" })
            for (const { id, options } of items) {
              const answer = options.find((option) => option.kind === kind)?.id
              if (answer === undefined) continue
              count += 1
              yield* Effect.ignore(interactions.answer(place.principal, id, { answer }))
            }
          })
  })
  const isMade = existsSync(join(sessionPaths(ground.dataDir, place.sessionId).workTree, `${kind}.txt`))
  return { ran, isMade, count }
})

/** A command that the agent asks leave for runs when it is allowed, is left when it is not, and is forgotten when the turn is cancelled meanwhile. */
export const approving = Effect.fnUntraced(function* (ground: Ground) {
  const place = yield* newSession(ground, { permissions: { default: "ask" } })
  const allowed = yield* answering(ground, place, "allow_once")
  const denied = yield* answering(ground, place, "reject_once")
  const outcome = ({ count, isMade, ran }: typeof allowed) =>
    `${endOf(ran)} after ${count} answers, and the command ${isMade ? "ran" : "did not run"}`
  const approval = finding(
    "approval",
    "interactive_approval",
    allowed.count > 0 && allowed.isMade && denied.count > 0 && !denied.isMade && allowed.ran.turn.state === "succeeded",
    `allowed: ${outcome(allowed)}; refused: ${outcome(denied)}`
  )
  const cancelled = yield* cancelAt(ground, place, {
    where: "a question",
    isDue: isQuestion,
    steps: [{ tool: "bash", cmd: "echo asked > asked.txt", ask: true }, { say: "Asked." }]
  })
  return [approval, cancelled]
})

/** One pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** An attached image comes to the model as an image, or the model is told where it is. */
export const seeing = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const { upload_id } = yield* (yield* SessionFiles).upload(place.principal, place.sessionId, {
    path: "dot.png",
    content: png,
    encoding: "base64"
  })
  const ran = yield* run(ground, place, {
    words: "Look at it.",
    steps: [{ say: "I see a dot." }],
    attachments: [upload_id]
  })
  const isSeen = ran.worked.some(({ images }) => images > 0)
  const isNamed = ran.worked.some(({ messages }) => messages.some(({ text }) => text.includes("dot.png")))
  return finding(
    "image",
    null,
    ran.turn.state === "succeeded" && (isSeen || isNamed),
    `${endOf(ran)}; the model got ${isSeen ? "the image" : isNamed ? "the path of the image" : "nothing of the image"}`
  )
})
