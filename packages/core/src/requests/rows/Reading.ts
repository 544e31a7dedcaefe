import { now, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import type { RemoteMergeRequest } from "@reins/machine/forge/ForgeCalls"
import { Effect } from "effect"
import type { MergeRequest } from "./MergeRequest.js"

/** A merge request as the forge has shown it. */
export interface Reading {
  /** The time at which the reading began, by the clock that the processes on a database share. */
  readonly at: Timestamp
  readonly remote: RemoteMergeRequest
}

export const readNow = <E, R>(read: Effect.Effect<RemoteMergeRequest, E, R>): Effect.Effect<Reading, E, R> =>
  Effect.zipWith(now, read, (at, remote) => ({ at, remote }))

/** True when the forge has an open merge request in another way than its row. */
export const differs = (row: MergeRequest, remote: RemoteMergeRequest): boolean =>
  remote.state !== "open" ||
  remote.draft !== row.draft ||
  headOf(remote) !== row.head_sha ||
  (remote.baseBranch ?? row.base_branch) !== row.base_branch

export const headOf = ({ headSha }: RemoteMergeRequest): string | null => (headSha === "" ? null : headSha)

/** True when the row holds a reading that did not begin before `at`. A clock that was set back by more than a reading takes says nothing. */
export const isNewer = ({ observed_at }: MergeRequest, at: Timestamp): boolean => {
  const aheadMs = observed_at === null ? Number.NEGATIVE_INFINITY : toMillis(observed_at) - toMillis(at)
  return aheadMs >= 0 && aheadMs < longestMs
}

/** True when the row holds a newer reading that says something else. The end of a merge request stands, whenever it was read. */
export const isOvertaken = (row: MergeRequest, { at, remote }: Reading): boolean =>
  remote.state === "open" && isNewer(row, at) && differs(row, remote)

/** The reading with the time of the row where that is newer, because the time in a row does not go back. */
export const notBefore = (row: MergeRequest, { at, remote }: Reading): Reading => ({
  at: isNewer(row, at) ? (row.observed_at ?? at) : at,
  remote
})

/** No reading takes so long, in milliseconds. */
const longestMs = 5 * 60_000
