import { now } from "@reins/base/domain/Timestamp"
import { ForgeError } from "@reins/machine/forge/Forge"
import { Forges } from "@reins/machine/forge/Forges"
import type { ViewMemory } from "@reins/machine/forge/ForgeView"
import { Effect } from "effect"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import { TokenMint } from "../../connections/TokenMint.js"
import { DeliveryStore } from "../../deliveries/DeliveryStore.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { Journal } from "../../store/Journal.js"
import { makeReadLogs } from "../rows/CheckLogs.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { LookSequel } from "./LookSequel.js"
import type { WatchMemory } from "./WatchMemory.js"
import { makeAskWriters, rightsIn } from "./Writers.js"

/** Gives the function that reads a merge request of the forge, with all that decisions about it need. It writes only that a token is not taken. */
export const makeReadForge = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const deliveries = yield* DeliveryStore
  const forges = yield* Forges
  const journal = yield* Journal
  const mint = yield* TokenMint
  const sessions = yield* SessionStore
  const readLogs = yield* makeReadLogs
  const askWriters = yield* makeAskWriters
  const follow = yield* LookSequel

  return Effect.fnUntraced(function* (request: MergeRequest, memory: WatchMemory) {
    const session = yield* sessions.find(request.session_id)
    const delivery = yield* deliveries.find(request.delivery_id)
    if (session === undefined || delivery === undefined || request.number === null) return yield* gone
    const connection = yield* connections
      .open(session.workspace_id, request.connection_id)
      .pipe(Effect.mapError(({ message }) => new ForgeError({ kind: "unauthenticated", message })))
    const kept: WatchMemory = memory.credential === connection.credentialId ? memory : {}
    const known = kept.seenAt === request.observed_at ? (kept.view ?? {}) : withoutRequest(kept.view ?? {})
    const remoteUrl = delivery.remote_url ?? ""
    const { number } = request
    const { at, forge, tokened, view } = yield* Effect.gen(function* () {
      const tokened = yield* mint.forApi(connection, remoteUrl)
      const forge = yield* forges.open(tokened, remoteUrl)
      return { at: yield* now, forge, tokened, view: yield* forge.view(number, known) }
    }).pipe(
      Effect.tapErrorTag("ForgeError", ({ kind }) =>
        kind === "unauthenticated"
          ? connections.observe(connection.id, connection.credentialId, "reauth_required").pipe(journal.commit)
          : Effect.void
      )
    )
    if (view.memory.head === "" && (view.request.state === "unchanged" || view.request.value.state === "open"))
      return yield* headless
    const self = kept.self === undefined ? ((yield* forges.loginOf(tokened)) ?? null) : kept.self
    const logs = yield* readLogs(request, view.memory.head ?? request.head_sha ?? "", view, forge)
    const { isAsking, writers } = yield* askWriters(request, view, forge, { ...kept, self })
    const sequel = yield* follow.prepare(forge, request, view, writers)
    const seen = { ...memory, credential: connection.credentialId, self, writers, view: view.memory }
    return { view, logs, isAsking, rights: rightsIn(writers), sequel, memory: seen, at, before: request }
  })
})

/** The row is not as this memory has it, so "as it was" would say nothing about the row. */
const withoutRequest = ({ parts: { request: _known, ...parts } = {}, ...view }: ViewMemory): ViewMemory => ({
  ...view,
  parts
})

const headless = new ForgeError({
  kind: "not_found",
  message: "The forge shows no commit of the branch, so it may be gone. Push it again."
})

const gone = new ForgeError({ kind: "not_found", message: "The delivery of the merge request is gone." })
