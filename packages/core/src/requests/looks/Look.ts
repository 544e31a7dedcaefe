import { failpoint } from "@reins/base/base/Failpoint"
import { limited } from "@reins/base/base/Limited"
import { fn } from "@reins/base/base/Traced"
import { ForgeError } from "@reins/machine/forge/Forge"
import { Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import { Journal } from "../../store/Journal.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { MergeRequestStore } from "../rows/MergeRequestStore.js"
import { RequestListeners } from "../rows/RequestListeners.js"
import { type Watch, type WatchLost, WatchStore } from "../rows/WatchStore.js"
import { afterFailureMs } from "./Cadence.js"
import { pauseAfter } from "./ForgeAccess.js"
import { LookSequel } from "./LookSequel.js"
import { makeReadForge } from "./ReadForge.js"
import { makeRecord } from "./Record.js"
import { makeRefusals } from "./Refusals.js"
import { waiting } from "./Summing.js"
import type { WatchMemory } from "./WatchMemory.js"

const actor = systemActor("merge_requests")

/** A look that takes longer than this has failed, in milliseconds. */
const longestMs = 60_000

/** A forge that has failed at so many looks in a row is told. */
const silentFailures = 5

/** Gives the function that looks at a merge request which this process holds: it reads the forge, and writes what differs in one commit. */
export const makeLook = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* MergeRequestStore
  const watches = yield* WatchStore
  const readForge = yield* makeReadForge
  const record = yield* makeRecord
  const follow = yield* LookSequel
  const listeners = yield* RequestListeners
  const refusals = yield* makeRefusals

  const failed = (watch: Watch, request: MergeRequest, error: ForgeError) =>
    watches.finish(
      watch,
      Effect.gen(function* () {
        const failures = watch.failures + 1
        const isPause = error.kind === "rate_limited"
        const pauseMs = pauseAfter(error, failures)
        if (isPause) yield* watches.pause(watch.connection_id, pauseMs, false)
        const isPassing = isPause || error.kind === "unavailable"
        const current = yield* store.find(request.id)
        if (current?.state === "open" && (!isPassing || (!isPause && failures >= silentFailures)))
          yield* unreadable(current, error)
        const counted = isPassing ? undefined : yield* refused(watch, current, error)
        const memory = counted?.memory ?? watch.memory
        const dueMs =
          current?.state === "open" ? yield* follow.missed(current.id, counted?.reason) : Number.POSITIVE_INFINITY
        const nextMs = isPause ? pauseMs : Math.min(dueMs, afterFailureMs(isPassing ? failures : failures + 6))
        return { value: undefined, looked: { memory, moved_at: watch.moved_at, failures, nextMs } }
      })
    )

  /** Counts a refusal, and tells of it once it lasts. Gives the memory of the watch, and why a person has to know by now. */
  const refused = Effect.fnUntraced(function* (watch: Watch, current: MergeRequest | undefined, error: ForgeError) {
    const memory: WatchMemory = JSON.parse(watch.memory)
    const counted = yield* refusals(memory.refused, error)
    if (current?.state === "open" && counted.reason !== undefined) yield* listeners.refused(current, counted.reason)
    const next: WatchMemory = { ...memory, refused: counted.refused }
    return { memory: JSON.stringify(next), reason: counted.reason }
  })

  /** The rows stay as they were read, and nothing of them counts as a success any more. */
  const unreadable = Effect.fnUntraced(function* ({ id, standing }: MergeRequest, { message }: ForgeError) {
    if (standing === null || standing.waiting_for.some((each) => each.kind === "forge_unreadable")) return
    const checks = { ...standing.checks, state: "unreadable" as const }
    const why = waiting("forge_unreadable", message)
    yield* store.keepStanding(
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
    else if (yield* record(watch, request.id, seen.right)) yield* failpoint("conditions.held")
    yield* failpoint("look.committed")
  })
})

const late = new ForgeError({ kind: "unavailable", message: "The forge took longer than a minute to answer." })
