import { cp } from "node:fs/promises"
import { join } from "node:path"
import { Models } from "@reins/core/catalog/Models"
import { Changesets } from "@reins/core/changes/Changesets"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import * as Local from "@reins/machine/executor/Local"
import { Harness } from "@reins/machine/harness/Harness"
import { HarnessInstall } from "@reins/machine/harness/Install"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import { Effect, Redacted, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import {
  canary,
  credentialOf,
  endOf,
  finding,
  type Ground,
  isSpoken,
  model,
  newSession,
  type Place,
  placesOf,
  processesOf,
  protocolOf,
  remembers,
  run
} from "./Ground.js"

/** The tokens that the scripted gateway says of each answer. That protocol counts the cached ones beside the others. */
const outputTokens = 20
const inputTokens = (ground: Ground): number => (protocolOf(ground.manifest) === "anthropic_messages" ? 1100 : 1000)

/** A turn that thinks, speaks, writes a file, edits it and runs a command. */
export const firstTurn = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const path = join((yield* placesOf(ground, place)).workspaceDir, "added.txt")
  const ran = yield* run(ground, place, {
    words: `Remember the word ${canary} and add a file.`,
    steps: [
      { say: "I write it now, word by word.", tool: "write", path, content: "added\n" },
      { tool: "bash", cmd: "echo ran >> added.txt" },
      { say: "All done." }
    ]
  })
  const [changeset] = (yield* (yield* Changesets).list(place.principal, place.sessionId, {})).items
  const diff = changeset === undefined ? "" : (yield* (yield* Changesets).diff(place.principal, changeset.id, {})).diff
  const deltas = ran.events.filter(isSpoken).length
  const tools = ran.events.filter(({ type }) => type === "tool.completed").length
  // An agent may ask a model of its own for a title, with the prompt and the tools.
  const models = new Set(ran.worked.filter(({ step }) => step.tool !== undefined).map((request) => request.model))
  const { input_tokens: input, output_tokens: output } = ran.turn.usage
  const counts = [ran.worked.length, ran.calls]
  const isTrue = counts.some((count) => output === count * outputTokens && input === count * inputTokens(ground))
  return [
    finding(
      "work",
      null,
      ran.turn.state === "succeeded" && diff.includes("+added") && diff.includes("+ran"),
      `${endOf(ran)}; the changeset has ${diff.includes("+added") ? "the file" : "no file"} and ${diff.includes("+ran") ? "the command's line" : "no line of the command"}`
    ),
    finding(
      "events",
      "event_stream",
      deltas > 0 && tools > 0,
      `${deltas > 0 ? "words" : "no words"} and ${tools} finished tools came as events`
    ),
    finding("model", null, models.has(model), `the work was asked of ${[...models].join(", ") || "no model"}`),
    finding(
      "usage",
      "usage",
      isTrue,
      `${input ?? "no"} input and ${output ?? "no"} output tokens are told; the gateway has counted ${counts.map((count) => `${count * inputTokens(ground)} and ${count * outputTokens} in ${count}`).join(" calls for the work, ")} calls in all`
    )
  ]
})

/** A turn that replaces text in a file. */
export const editing = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const path = join((yield* placesOf(ground, place)).workspaceDir, "edited.txt")
  // Agents edit only what they have read.
  const ran = yield* run(ground, place, {
    words: "Edit a file.",
    steps: [
      { tool: "write", path, content: "before\n" },
      { tool: "read", path },
      { tool: "edit", path, old: "before", new: "after" },
      { say: "Edited." }
    ]
  })
  const [changeset] = (yield* (yield* Changesets).list(place.principal, place.sessionId, {})).items
  const diff = changeset === undefined ? "" : (yield* (yield* Changesets).diff(place.principal, changeset.id, {})).diff
  return finding(
    "edit",
    null,
    ran.turn.state === "succeeded" && diff.includes("+after"),
    `${endOf(ran)}; the changeset has ${diff.includes("+after") ? "the new text" : "not the new text"}`
  )
})

/** The models of the gateway, as clients get them. */
export const listing = Effect.fnUntraced(function* ({ manifest }: Ground, { principal, workspaceId }: Place) {
  const query = { provider_id: manifest.provider_id, workspace_id: workspaceId }
  const found = yield* Effect.either((yield* Models).list(principal, query))
  return finding(
    "models",
    "model_discovery",
    found._tag === "Right" && found.right.items.some(({ id }) => id === model),
    found._tag === "Right" ? `${found.right.items.length} models of the gateway are listed` : found.left.message
  )
})

/** A session with another model asks that one. */
export const choosing = Effect.fnUntraced(function* (ground: Ground) {
  const other = "scripted-2"
  const ran = yield* run(ground, yield* newSession(ground, { model: other }), {
    words: "Say a word.",
    steps: [{ say: "Word." }]
  })
  const models = new Set(ran.worked.map((request) => request.model))
  return finding(
    "other model",
    null,
    ran.turn.state === "succeeded" && models.has(other),
    `${endOf(ran)}; a session with ${other} asked ${[...models].join(", ") || "no model"}`
  )
})

/** Stops the agent of a session, so that its next turn has a process of its own. */
export const stopAgent = Effect.fnUntraced(function* ({ principal, sessionId }: Place) {
  yield* (yield* SessionExecutors).release(principal, sessionId, {})
  const executors = yield* SessionExecutors
  yield* Effect.repeat(executors.get(principal, sessionId), {
    until: ({ lease }) => lease.state === "released" || lease.state === "lost",
    schedule: Schedule.spaced("50 millis")
  })
  return yield* processesOf(sessionId)
})

/** Three turns within a minute, each of a process of its own. */
export const resuming = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const ends: Array<string> = []
  for (const number of [1, 2, 3]) {
    const left = yield* stopAgent(place)
    const ran = yield* run(ground, place, { words: `Go on, ${number}.`, steps: [{ say: "I go on." }] })
    const isGood = ran.turn.state === "succeeded" && remembers(ran.worked)
    const end = isGood ? "remembered" : ran.turn.state === "succeeded" ? "forgot" : endOf(ran)
    ends.push(left.length === 0 ? end : `${end}, in the same process`)
  }
  return finding(
    "resume",
    "native_resume",
    ends.every((end) => end === "remembered"),
    `three further turns, each of a new process: ${ends.join(", ")}`
  )
})

/** A turn of the agent over its driver alone, with a process of its own that is told of more than sessions tell. Gives its end. */
export const turnAlone = Effect.fnUntraced(function* (
  ground: Ground,
  given: Pick<TurnInput, "homeDir" | "workspaceDir" | "nativeSessionId" | "prompt"> & Partial<TurnInput>
) {
  const harness = yield* Harness
  const { api_key, ...settings } = credentialOf(ground, ground.key)
  const relayPort = Number(new URL(settings.base_url).port)
  const turn: TurnInput = {
    manifest: ground.manifest,
    installed: yield* Effect.orDie((yield* HarnessInstall).install(ground.manifest.provider_id)),
    executor: given.executor ?? (yield* Local.make(`verify-${process.pid}`)),
    leaseId: `verify-${process.pid}`,
    connection: { kind: "gateway", relayPort, settings, secrets: { api_key: Redacted.make(api_key) } },
    model,
    cancel: Effect.never,
    deadline: "2 minutes",
    ...given
  }
  return yield* Effect.scoped(Effect.flatMap(harness.open(turn), (agent) => agent.turn(turn, () => Effect.void))).pipe(
    Effect.catchAll(({ message, reason }) => Effect.succeed(`${reason}, ${message}`))
  )
})

/** The agent's own files, in another home, are enough to go on. */
export const exporting = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  yield* stopAgent(place)
  const session = yield* (yield* SessionStore).find(place.sessionId)
  const { home, workTree } = sessionPaths(ground.dataDir, place.sessionId)
  const { files } = yield* (yield* Harness).nativeState(ground.manifest, home)
  const elsewhere = join(ground.dataDir, "elsewhere")
  yield* Effect.promise(async () => {
    for (const { path } of files) await cp(join(home, path), join(elsewhere, path), { recursive: true })
  })
  const before = ground.gateway.requests.length
  // Its record names the paths that it was made at.
  const { executor, workspaceDir } = yield* placesOf(ground, place)
  const ended = yield* turnAlone(ground, {
    executor,
    workspaceDir: workTree,
    homeDir: elsewhere,
    ...(executor.ownPaths === true && { seenAt: { workspaceDir, homeDir: elsewhere } }),
    nativeSessionId: session?.agent.native_session_id ?? null,
    prompt: [{ type: "text", text: script("Go on elsewhere.", { say: "Here I am." }) }]
  })
  const isRemembered = remembers(ground.gateway.requests.slice(before))
  return finding(
    "export",
    "native_state_export",
    files.length > 0 && ended === "completed" && isRemembered,
    `${files.length === 0 ? "no files" : "the files of its state"} in another home: ${ended}, ${isRemembered ? "remembered" : "forgot"}`
  )
})
