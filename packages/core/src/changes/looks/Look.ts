import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import { failpoint } from "../../base/Failpoint.js"
import { limited } from "../../base/Limited.js"
import { fn } from "../../base/Traced.js"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import { TokenMint } from "../../connections/TokenMint.js"
import { ForgeError } from "../../forge/Forge.js"
import { Forges } from "../../forge/Forges.js"
import { SessionStore } from "../../sessions/SessionStore.js"
import { Journal } from "../../store/Journal.js"
import { DeliveryStore } from "../DeliveryStore.js"
import type { MergeRequest } from "../MergeRequest.js"
import { MergeRequestStore } from "../MergeRequestStore.js"
import { afterFailureMs } from "./Cadence.js"
import { makeRecord, type WatchMemory } from "./Record.js"
import { waiting } from "./Summing.js"
import { type Watch, type WatchLost, WatchStore } from "./WatchStore.js"

const actor = systemActor("merge_requests")

/** A look that takes longer than this has failed, in milliseconds. */
const longestMs = 60_000

/** The pause after a forge was asked too often, where it names none, in milliseconds. */
const usualPauseMs = 60_000

/** Gives the function that looks at a merge request which this process holds: it reads the forge, and writes what differs in one commit. */
export const makeLook = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const deliveries = yield* DeliveryStore
  const forges = yield* Forges
  const journal = yield* Journal
  const mint = yield* TokenMint
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const watches = yield* WatchStore
  const record = yield* makeRecord

  const readForge = Effect.fnUntraced(function* (request: MergeRequest, memory: WatchMemory) {
    const session = yield* sessions.find(request.session_id)
    const delivery = yield* deliveries.find(request.delivery_id)
    if (session === undefined || delivery === undefined || request.number === null) return yield* gone
    const connection = yield* connections
      .open(session.workspace_id, request.connection_id)
      .pipe(Effect.mapError(({ message }) => new ForgeError({ kind: "unauthenticated", message })))
    const kept: WatchMemory = memory.credential === connection.credentialId ? memory : {}
    const remoteUrl = delivery.remote_url ?? ""
    const { number } = request
    const { tokened, view } = yield* mint.forApi(connection, remoteUrl).pipe(
      Effect.flatMap((tokened) =>
        forges.open(tokened, remoteUrl).pipe(
          Effect.flatMap((forge) => forge.view(number, kept.view ?? {})),
          Effect.map((view) => ({ tokened, view }))
        )
      ),
      Effect.tapErrorTag("ForgeError", ({ kind }) =>
        kind === "unauthenticated"
          ? connections.observe(connection.id, connection.credentialId, "reauth_required").pipe(journal.commit)
          : Effect.void
      )
    )
    const self = kept.self === undefined ? ((yield* forges.loginOf(tokened)) ?? null) : kept.self
    return { view, memory: { ...memory, credential: connection.credentialId, self, view: view.memory } }
  })

  const failed = (watch: Watch, request: MergeRequest, error: ForgeError) =>
    watches.finish(
      watch,
      Effect.gen(function* () {
        const failures = watch.failures + 1
        const isPause = error.kind === "rate_limited"
        const pauseMs = error.retryAfterMs ?? usualPauseMs
        if (isPause) yield* watches.pause(watch.connection_id, pauseMs, false)
        const isPassing = isPause || error.kind === "unavailable"
        const current = yield* store.find(request.id)
        if (!isPassing && current?.state === "open") yield* unreadable(current, error)
        const nextMs = isPause ? pauseMs : afterFailureMs(isPassing ? failures : failures + 6)
        return { value: undefined, looked: { ...kept(watch), failures, nextMs } }
      })
    )

  /** The rows stay as they were read, and nothing of them counts as a success any more. */
  const unreadable = Effect.fnUntraced(function* ({ id, standing }: MergeRequest, { message }: ForgeError) {
    if (standing === null || standing.waiting_for.some((each) => each.kind === "forge_unreadable")) return
    const checks = { ...standing.checks, state: "unreadable" as const }
    const why = waiting("forge_unreadable", message)
    yield* store.looked(
      id,
      { ...standing, checks, waiting_for: [why, ...standing.waiting_for] },
      ["merge_request.checks_changed"],
      actor
    )
  })

  return fn("look")(function* (watch: Watch): Effect.fn.Return<void, WatchLost> {
    const request = yield* store.find(watch.merge_request_id)
    if (request?.state !== "open") return yield* journal.commit(watches.end(watch.merge_request_id))
    const memory: WatchMemory = JSON.parse(watch.memory)
    const seen = yield* Effect.either(
      limited(readForge(request, memory), Effect.timeoutFail({ duration: longestMs, onTimeout: () => late }))
    )
    yield* failpoint("look.read")
    if (seen._tag === "Left") yield* failed(watch, request, seen.left)
    else yield* record(watch, request.id, seen.right)
    yield* failpoint("look.committed")
  })
})

const kept = ({ memory, moved_at }: Watch) => ({ memory, moved_at })

const gone = new ForgeError({ kind: "not_found", message: "The delivery of the merge request is gone." })

const late = new ForgeError({ kind: "unavailable", message: "The forge took longer than a minute to answer." })
