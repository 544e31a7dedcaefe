import type { AccountId, ApiKeyId, MergeRequestId } from "@reins/base/domain/Ids"
import type { BranchDemand } from "@reins/machine/forge/BranchDemands"
import { Effect } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { type ConditionsState, conditionsStates, type GivenUpReason, type MergeConditions } from "./MergeConditions.js"

/** The facts that looks have read of a forge for the conditions alone. Times are in milliseconds since 1970. */
export interface SeenForConditions {
  /** The checks that the forge demands of a base branch. */
  readonly rules?: {
    readonly base: string
    readonly requiredChecks: ReadonlyArray<string> | null
    /** Absent where an older release has read the rules. */
    readonly demands?: ReadonlyArray<BranchDemand>
    readonly at: number
  }
  /** True where nobody has named a way to merge. */
  readonly anyMethod?: boolean
  /** The accounts of the forge that have reviewed or written, and whether they may write. Null where the forge does not show it. */
  readonly writers?: { readonly [Login in string]?: { readonly may: boolean | null; readonly at: number } }
  /** The merges of one head that the forge has declined, and the time of the last one. */
  readonly refused?: { readonly head: string; readonly count: number; readonly at: number }
  /** The head at which a demanded check was missing while no other ran, and since when. */
  readonly missing?: { readonly head: string; readonly since: number } | undefined
  /** The head that was last told to be ready. */
  readonly readyHead?: string
}

/** The conditions of a merge request as they are stored. */
export interface ConditionRow {
  readonly id: MergeRequestId
  readonly actsFor: AccountId
  /** The API key with which they were set; null without one. */
  readonly apiKeyId: ApiKeyId | null
  /** Grows with each begin of a merge, and as conditions are set anew. A merge of another round is void. */
  readonly round: number
  readonly shown: MergeConditions
  readonly seen: SeenForConditions
}

interface StoredRow {
  readonly merge_request_id: MergeRequestId
  readonly acts_for: AccountId
  readonly api_key_id: ApiKeyId | null
  readonly round: number
  readonly shown: string
  readonly seen: string
}

const toRow = ({ acts_for, api_key_id, merge_request_id, round, seen, shown }: StoredRow): ConditionRow => ({
  id: merge_request_id,
  actsFor: acts_for,
  apiKeyId: api_key_id,
  round,
  shown: JSON.parse(shown),
  seen: JSON.parse(seen)
})

/** The rows of merge conditions. */
export const conditionRows = Effect.map(Database, ({ first, forUpdate, run, sql }) => {
  const read = (id: string, lock: typeof forUpdate) =>
    Effect.map(
      first(sql<StoredRow>`select * from merge_conditions where merge_request_id = ${id}${lock}`),
      (row): ConditionRow | undefined => (row === undefined ? undefined : toRow(row))
    )
  /** Writes conditions, in the place of those that the merge request has. */
  const write = ({ actsFor, apiKeyId, id, round, seen, shown }: ConditionRow): Effect.Effect<void, never, Commit> => {
    const columns = {
      acts_for: actsFor,
      api_key_id: apiKeyId,
      round,
      shown: JSON.stringify(shown),
      seen: JSON.stringify(seen)
    }
    return run(sql`insert into merge_conditions ${sql.insert({ merge_request_id: id, ...columns })}
      on conflict (merge_request_id) do update set ${sql.update(columns)}`)
  }
  /** The conditions, held against other writers. */
  const hold = (id: string): Effect.Effect<ConditionRow | undefined, never, Commit> => read(id, forUpdate)
  return {
    find: (id: string) => read(id, sql``),
    hold,
    write,
    remove: (id: MergeRequestId): Effect.Effect<void, never, Commit> =>
      run(sql`delete from merge_conditions where merge_request_id = ${id}`),
    /** Gives conditions up that were set for another base branch. False when there are none that go on. */
    retarget: Effect.fnUntraced(function* (id: MergeRequestId, base: string) {
      const row = yield* hold(id)
      if (row === undefined || (row.shown.state !== "waiting" && row.shown.state !== "merging")) return false
      yield* write(movedTo(row, "given_up", { reason: "base_changed", message: retargeted(base) }))
      return true
    }) satisfies (id: MergeRequestId, base: string) => Effect.Effect<boolean, never, Commit>,
    /** Ends the conditions of a merge request that has ended. */
    end: Effect.fnUntraced(function* (id: MergeRequestId, state: "merged" | "closed" | "failed") {
      const row = yield* hold(id)
      if (row === undefined) return
      const reason_message = state === "failed" ? failedMessage : closedMessage
      yield* write({
        ...row,
        shown: {
          ...row.shown,
          waiting_for: [],
          ...(state === "merged"
            ? { state: "merged" as const, reason: null, reason_message: null }
            : { state: "given_up" as const, reason: "closed" as const, reason_message })
        }
      })
    }) satisfies (id: MergeRequestId, state: "merged" | "closed" | "failed") => Effect.Effect<void, never, Commit>
  }
})

const retargeted = (base: string): string =>
  `Somebody has changed the base branch on the forge to ${JSON.stringify(base)}. Set the conditions again if it should be merged there.`

const failedMessage = "The merge request could not be opened. Mend the reason, then open a new one."

const closedMessage =
  "The merge request was closed on the forge. Open a new one of the delivery, if it is still wanted."

/** The conditions in another state. A move that is not drawn is a defect. */
export const movedTo = (
  row: ConditionRow,
  state: ConditionsState,
  change: Partial<Pick<MergeConditions, "waiting_for" | "head_sha" | "refusals">> & {
    readonly reason?: GivenUpReason
    readonly message?: string
  } = {}
): ConditionRow => {
  if (!conditionsStates.allows(row.shown.state, state))
    throw new Error(`merge conditions that are ${row.shown.state} cannot become ${state}`)
  const { message = null, reason = null, ...shown } = change
  return { ...row, shown: { ...row.shown, ...shown, state, reason, reason_message: message } }
}
