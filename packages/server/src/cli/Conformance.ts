import { cp } from "node:fs/promises"
import { join } from "node:path"
import { Models } from "@reins/core/catalog/Models"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import type { GatewayProtocol } from "@reins/core/domain/Connection"
import type { SessionId, WorkspaceId } from "@reins/core/domain/Ids"
import type { Principal } from "@reins/core/domain/Principal"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import * as Local from "@reins/core/executor/Local"
import { Harness } from "@reins/core/harness/Harness"
import { HarnessInstall } from "@reins/core/harness/Install"
import type { CapabilityName, Manifest } from "@reins/core/harness/Manifest"
import type { TurnInput } from "@reins/core/harness/TurnInput"
import { Messages } from "@reins/core/sessions/Messages"
import { sessionPaths } from "@reins/core/sessions/SessionPaths"
import { SessionStore } from "@reins/core/sessions/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Effect, Redacted, Stream } from "effect"
import { type Gateway, type GatewayRequest, script } from "reins-example-scripted-gateway/gateway.mjs"

/** The finding of one check of an agent. The evidence says what was seen, whether it passed or not. */
export interface Checked {
  readonly check: string
  /** The capability that the check proves; null for what every agent has to do. */
  readonly capability: CapabilityName | null
  readonly passed: boolean
  readonly evidence: string
}

/** The surroundings of the checks of one provider: a core of their own, and a gateway that plays its model. */
export interface Ground {
  readonly manifest: Manifest
  readonly dataDir: string
  readonly gateway: Gateway
  /** The only key that the gateway takes. */
  readonly key: string
}

const model = "scripted-1"
/** The tokens that the scripted gateway says of each answer. */
const outputTokens = 20
/** A word that only the first turn says. */
const canary = "PINEAPPLE"

/** The ends of a turn. */
const ends = /^turn\.(?:succeeded|failed|cancelled|interrupted)$/

/** The events that bring the agent's words. */
const words = /^message\.part_/

const protocolOf = ({ credential }: Manifest): GatewayProtocol =>
  credential?.protocols?.[0] ?? (credential?.connection_kind === "beta" ? "openai_responses" : "openai_chat")

const baseUrlOf = ({ gateway, manifest }: Ground): string =>
  protocolOf(manifest) === "gemini" ? gateway.geminiUrl : gateway.url

const credentialOf = (ground: Ground, api_key: string) => ({
  base_url: baseUrlOf(ground),
  api_key,
  ...(ground.manifest.credential?.connection_kind !== "beta" && { protocol: protocolOf(ground.manifest) })
})

/** A new session of the provider, with a connection of its own that has the given key. */
const newSession = Effect.fnUntraced(function* (ground: Ground, key: string) {
  const { principal, workspaceId } = yield* Embedded.owner
  const connection = yield* (yield* Connections).create(principal, workspaceId, {
    kind: ground.manifest.credential?.connection_kind ?? "gateway",
    label: "verify",
    credential: credentialOf(ground, key)
  })
  const session = yield* (yield* Sessions).create(principal, workspaceId, {
    harness: { provider_id: ground.manifest.provider_id, model },
    connection_id: connection.id
  })
  return { principal, workspaceId, sessionId: session.id }
})

interface Place {
  readonly principal: Principal
  readonly workspaceId: WorkspaceId
  readonly sessionId: SessionId
}

/** Sends a message and waits for the end of its turn. `onEvent` hears of each of its events before. */
const run = Effect.fnUntraced(function* (
  { gateway }: Ground,
  { principal, sessionId }: Place,
  content: string,
  onEvent: (type: string, turnId: string) => Effect.Effect<unknown> = () => Effect.void
) {
  const before = gateway.requests.length
  const { turn_id: turnId = "" } = yield* (yield* Messages).send(principal, sessionId, { content })
  const types = yield* (yield* EventFeed).stream(principal, sessionId, { after: 0 }).pipe(
    Stream.filter((event) => event.turn_id === turnId),
    Stream.map(({ type }) => type),
    Stream.tap((type) => onEvent(type, turnId)),
    Stream.takeUntil((type) => ends.test(type)),
    Stream.runCollect
  )
  const turn = yield* (yield* Turns).get(principal, turnId)
  const asked = gateway.requests.slice(before).filter(({ method }) => method === "POST")
  return { turn, types: [...types], asked, worked: asked.filter(({ tools }) => tools.length > 0) }
})

type Ran = Effect.Effect.Success<ReturnType<typeof run>>

const endOf = ({ turn }: Pick<Ran, "turn">): string =>
  turn.reason === null ? turn.state : `${turn.state}: ${turn.reason}, ${turn.reason_message ?? ""}`

const remembers = (worked: ReadonlyArray<GatewayRequest>): boolean =>
  worked.some(({ messages }) => messages.some(({ text }) => text.includes(canary)))

/** Runs every check, one after the other, because each goes on with the session of those before. */
export const checks = (ground: Ground) =>
  Effect.gen(function* () {
    const place = yield* newSession(ground, ground.key)
    const first = yield* firstTurn(ground, place)
    const resumed = yield* resuming(ground, place)
    const exported = yield* exporting(ground, place)
    return [
      ...first,
      yield* listing(ground, place),
      resumed,
      exported,
      yield* cancelling(ground, place),
      yield* wrongKey(ground)
    ]
  })

/** A turn that thinks, speaks, writes a file and runs a command. */
const firstTurn = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const path = join(sessionPaths(ground.dataDir, place.sessionId).workTree, "added.txt")
  const ran = yield* run(
    ground,
    place,
    script(
      `Remember the word ${canary} and add a file.`,
      { say: "I write it now, word by word.", tool: "write", path, content: "added\n" },
      { tool: "bash", cmd: "echo ran >> added.txt" },
      { say: "All done." }
    )
  )
  const [changeset] = (yield* (yield* Changesets).list(place.principal, place.sessionId, {})).items
  const diff = changeset === undefined ? "" : (yield* (yield* Changesets).diff(place.principal, changeset.id, {})).diff
  const deltas = ran.types.filter((type) => words.test(type)).length
  const tools = ran.types.filter((type) => type === "tool.completed").length
  const { output_tokens: told } = ran.turn.usage
  const sums = [ran.worked, ran.asked].map((calls) => calls.length * outputTokens)
  const work: Checked = {
    check: "work",
    capability: null,
    passed: ran.turn.state === "succeeded" && diff.includes("+added") && diff.includes("+ran"),
    evidence: `${endOf(ran)}; the changeset has ${diff.includes("+added") ? "the file" : "no file"} and ${diff.includes("+ran") ? "the command's line" : "no line of the command"}`
  }
  const events: Checked = {
    check: "events",
    capability: "event_stream",
    passed: deltas > 0 && tools > 0,
    evidence: `${ran.types.length} events, ${deltas} of words and ${tools} of finished tools`
  }
  // codex asks a model of its own for a title, with the prompt and the tools.
  const models = new Set(ran.worked.filter(({ step }) => step.tool !== undefined).map((request) => request.model))
  const asked: Checked = {
    check: "model",
    capability: null,
    passed: models.has(model),
    evidence: `the work was asked of ${[...models].join(", ") || "no model"}`
  }
  const usage: Checked = {
    check: "usage",
    capability: "usage",
    passed: told !== null && sums.includes(told),
    evidence: `${told ?? "no"} output tokens are told, the gateway has said ${sums[1]} in ${ran.asked.length} calls`
  }
  return [work, events, asked, usage]
})

/** The models of the gateway, as clients get them. */
const listing = Effect.fnUntraced(function* ({ manifest }: Ground, { principal, workspaceId }: Place) {
  const query = { provider_id: manifest.provider_id, workspace_id: workspaceId }
  const found = yield* Effect.either((yield* Models).list(principal, query))
  const listed: Checked = {
    check: "models",
    capability: "model_discovery",
    passed: found._tag === "Right" && found.right.items.some(({ id }) => id === model),
    evidence: found._tag === "Right" ? `${found.right.items.length} models are listed` : found.left.message
  }
  return listed
})

/** Three turns, one after the other, each of a process of its own where agents are not kept. */
const resuming = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const ends: Array<string> = []
  for (const number of [1, 2, 3]) {
    const ran = yield* run(ground, place, script(`Go on, ${number}.`, { say: "I go on." }))
    const isGood = ran.turn.state === "succeeded" && remembers(ran.worked)
    ends.push(isGood ? "remembered" : ran.turn.state === "succeeded" ? "forgot" : endOf(ran))
  }
  const resumed: Checked = {
    check: "resume",
    capability: "native_resume",
    passed: ends.every((end) => end === "remembered"),
    evidence: `three further turns: ${ends.join(", ")}`
  }
  return resumed
})

/** The agent's own files, in another home, are enough to go on. */
const exporting = Effect.fnUntraced(function* (ground: Ground, { sessionId }: Place) {
  const harness = yield* Harness
  const session = yield* (yield* SessionStore).find(sessionId)
  const install = yield* HarnessInstall
  const installed = yield* Effect.orDie(install.install(ground.manifest.provider_id))
  const { home, workTree } = sessionPaths(ground.dataDir, sessionId)
  const { files } = yield* harness.nativeState(ground.manifest, home)
  const elsewhere = join(ground.dataDir, "elsewhere")
  yield* Effect.promise(async () => {
    for (const { path } of files) await cp(join(home, path), join(elsewhere, path), { recursive: true })
  })
  const before = ground.gateway.requests.length
  const { api_key, ...settings } = credentialOf(ground, ground.key)
  const turn: TurnInput = {
    manifest: ground.manifest,
    installed,
    executor: yield* Local.make(`verify-${process.pid}`),
    leaseId: `verify-${process.pid}`,
    workspaceDir: workTree,
    homeDir: elsewhere,
    connection: { kind: "gateway", settings, secrets: { api_key: Redacted.make(api_key) } },
    model,
    nativeSessionId: session?.native_session_id ?? null,
    prompt: [{ type: "text", text: script("Go on elsewhere.", { say: "Here I am." }) }],
    cancel: Effect.never,
    deadline: "2 minutes"
  }
  const ended = yield* Effect.scoped(
    Effect.flatMap(harness.open(turn), (agent) => agent.turn(turn, () => Effect.void))
  ).pipe(Effect.catchAll(({ message, reason }) => Effect.succeed(`${reason}, ${message}`)))
  const isRemembered = remembers(ground.gateway.requests.slice(before))
  const exported: Checked = {
    check: "export",
    capability: "native_state_export",
    passed: files.length > 0 && ended === "completed" && isRemembered,
    evidence: `${files.length} files in another home: ${ended}, ${isRemembered ? "remembered" : "forgot"}`
  }
  return exported
})

/** A turn that is cancelled in the midst of its words. */
const cancelling = Effect.fnUntraced(function* (ground: Ground, place: Place) {
  const turns = yield* Turns
  const say = Array.from({ length: 300 }, (_, index) => `w${index}`).join(" ")
  let isAsked = false
  const ran = yield* run(ground, place, script("Talk.", { say, slow_ms: 100 }), (type, turnId) => {
    if (isAsked || !words.test(type)) return Effect.void
    isAsked = true
    return Effect.ignore(turns.cancel(place.principal, turnId))
  })
  const cancelled: Checked = {
    check: "cancel",
    capability: null,
    passed: ran.turn.state === "cancelled",
    evidence: endOf(ran)
  }
  return cancelled
})

/** A turn with a key that the gateway refuses. */
const wrongKey = Effect.fnUntraced(function* (ground: Ground) {
  const place = yield* newSession(ground, "sk-a-key-that-nobody-knows")
  const ran = yield* run(ground, place, script("Try.", { say: "It worked." }))
  const refused: Checked = {
    check: "wrong key",
    capability: null,
    passed: ran.turn.state === "failed" && ran.turn.reason === "credential_invalid",
    evidence: endOf(ran)
  }
  return refused
})
