import { cutText } from "@reins/base/base/CutText"
import type { Event } from "@reins/base/domain/Event"
import type { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import type { ConnectionId, SessionId, UploadId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { agentPlaces, sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Executors } from "@reins/machine/executor/Executors"
import { findMarked } from "@reins/machine/executor/ProcessTable"
import type { CapabilityName } from "@reins/machine/harness/Capability"
import type { Check } from "@reins/machine/harness/Evidence"
import type { Manifest } from "@reins/machine/harness/Manifest"
import type { PermissionPolicy } from "@reins/machine/harness/Permissions"
import { Effect, Stream } from "effect"
import { type Gateway, type GatewayRequest, type Step, script } from "reins-example-scripted-gateway/gateway.mjs"

/** The parts that the checks of one provider are made with: a core of their own, and a gateway that plays its model. */
export interface Ground {
  /** The manifest with everything `supported` that is to be tried. */
  readonly manifest: Manifest
  /** The data directory of the core. */
  readonly dataDir: string
  readonly gateway: Gateway
  /** The only key that the gateway takes. */
  readonly key: string
  /** The only trial that is wanted; all where it is absent. */
  readonly only?: string
}

/** The model of every session that is about no other. */
export const model = "scripted-1"

/** A word that only the first turn of a session says. */
export const canary = "PINEAPPLE"

/** The finding of a check. */
export const finding = (
  check: string,
  capability: CapabilityName | null,
  passed: boolean,
  evidence: string
): Check => ({
  check,
  capability,
  passed,
  evidence
})

/** A session with its owner and its connection. */
export interface Place {
  readonly principal: Principal
  readonly workspaceId: WorkspaceId
  readonly sessionId: SessionId
  readonly connectionId: ConnectionId
}

/** The protocol that the gateway of the provider speaks. */
export const protocolOf = ({ credential }: Manifest): GatewayProtocol =>
  credential?.protocols?.[0] ?? (credential?.connection_kind === "beta" ? "openai_responses" : "openai_chat")

const baseUrlOf = ({ gateway, manifest }: Ground): string =>
  protocolOf(manifest) === "gemini" ? gateway.geminiUrl : gateway.url

/** A credential for the gateway, as the kind of connection of the provider takes it. */
export const credentialOf = (ground: Ground, api_key: string) => ({
  base_url: baseUrlOf(ground),
  api_key,
  ...(ground.manifest.credential?.connection_kind !== "beta" && { protocol: protocolOf(ground.manifest) })
})

/** A new session of the provider, with a connection of its own. */
export const newSession = Effect.fnUntraced(function* (
  ground: Ground,
  given: {
    readonly key?: string
    readonly model?: string
    readonly permissions?: PermissionPolicy
    readonly repository?: { readonly url: string }
  } = {}
) {
  const { principal, workspaceId } = yield* Embedded.owner
  const connection = yield* (yield* Connections).create(principal, workspaceId, {
    kind: ground.manifest.credential?.connection_kind ?? "gateway",
    label: "verify",
    credential: credentialOf(ground, given.key ?? ground.key)
  })
  const session = yield* (yield* Sessions).create(principal, workspaceId, {
    harness: { provider_id: ground.manifest.provider_id, model: given.model ?? model },
    connection_id: connection.id,
    ...(given.permissions && { permissions: given.permissions }),
    ...(given.repository && { repository: given.repository })
  })
  return { principal, workspaceId, sessionId: session.id, connectionId: connection.id }
})

/** The directories of a session as its agent finds them. */
export const placesOf = Effect.fnUntraced(function* ({ dataDir }: Ground, { sessionId }: Pick<Place, "sessionId">) {
  const row = yield* (yield* SessionStore).find(sessionId)
  const executor = yield* Effect.orDie((yield* Executors).get(row?.executor.backend ?? "local"))
  const { home: homeDir, workTree: workspaceDir } = sessionPaths(dataDir, sessionId)
  return { executor, ...(executor.ownPaths === true ? agentPlaces(sessionId) : { homeDir, workspaceDir }) }
})

/** The ends of a turn. */
const ends = /^turn\.(?:succeeded|failed|cancelled|interrupted)$/

/** A turn that is to be run. */
export interface Asked {
  /** The words of the prompt, before its script. */
  readonly words: string
  readonly steps: ReadonlyArray<Step>
  readonly attachments?: ReadonlyArray<UploadId>
  /** Hears of each event of the turn, before the next one is read. */
  readonly onEvent?: (event: Event, turnId: string) => Effect.Effect<unknown, { readonly message: string }>
}

let turns = 0

/** Sends a message and waits for the end of its turn. */
export const run = Effect.fnUntraced(function* (
  { gateway }: Ground,
  { principal, sessionId }: Place,
  { attachments, onEvent = () => Effect.void, steps, words }: Asked
) {
  const before = gateway.requests.length
  // Other turns ask the same gateway meanwhile.
  const mark = `turn-${++turns}:`
  const content = steps.length === 0 ? `${mark} ${words}` : script(`${mark} ${words}`, ...steps)
  const { turn_id: turnId = "" } = yield* (yield* Messages).send(principal, sessionId, {
    content,
    ...(attachments && { attachments })
  })
  const events = yield* (yield* EventFeed).stream(principal, sessionId, { after: 0 }).pipe(
    Stream.filter((event) => event.turn_id === turnId),
    Stream.tap((event) => onEvent(event, turnId)),
    Stream.takeUntil(({ type }) => ends.test(type)),
    Stream.runCollect
  )
  const turn = yield* (yield* Turns).get(principal, turnId)
  const calls = gateway.requests.slice(before).filter(({ method }) => method === "POST")
  const asked = calls.filter(({ messages }) => messages.some(({ text }) => text.includes(mark)))
  return {
    turn,
    events: [...events],
    calls: calls.length,
    asked,
    worked: asked.filter(({ tools }) => tools.length > 0)
  }
})

/** The end of a turn, with what it has asked. */
export type Ran = Effect.Effect.Success<ReturnType<typeof run>>

/** The end of a turn in words. Digits of addresses and ids differ each time, and are no evidence. */
export const endOf = ({ turn }: Pick<Ran, "turn">): string =>
  turn.reason === null ? turn.state : `${turn.state}: ${turn.reason}, ${cutText(turn.reason_message ?? "", mostWords)}`

const mostWords = 200

/** True when a request holds what only the first turn has said. */
export const remembers = (worked: ReadonlyArray<GatewayRequest>): boolean =>
  worked.some(({ messages }) => messages.some(({ text }) => text.includes(canary)))

/** Runs something at the first event of a kind, and once. */
export const once = (
  isDue: (event: Event) => boolean,
  act: (turnId: string) => Effect.Effect<unknown, { readonly message: string }>
): NonNullable<Asked["onEvent"]> => {
  let isDone = false
  return (event, turnId) => {
    if (isDone || !isDue(event)) return Effect.void
    isDone = true
    return act(turnId)
  }
}

/** True for an event that brings words of the agent. */
export const isSpoken = ({ type }: Event): boolean => /^message\.part_/.test(type)

/** The processes of the session's agent, and what they have started. Empty on a system without /proc. */
export const processesOf = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const session = yield* (yield* SessionStore).find(sessionId)
    const id = session?.executor.lease?.id
    return id === null || id === undefined ? [] : yield* Effect.promise(() => findMarked({ kind: "lease", id }))
  })
