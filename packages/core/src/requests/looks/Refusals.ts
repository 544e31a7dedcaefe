import { type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import type { ForgeError } from "@reins/machine/forge/Forge"
import { Effect } from "effect"
import { Database } from "../../store/Database.js"
import type { LastingRefusal } from "../rows/RequestListeners.js"

/** The looks in a row at which the forge did not show a merge request. `since` is a time of the database. */
export interface RefusedLooks {
  readonly since: Timestamp
  readonly count: number
}

/** A person is asked after so many of them, over so long. A forge may answer wrongly for a moment, and many hooks may ring in one. */
const leastLooks = 3
const leastMs = 30 * 60_000

const isOfToken = ({ kind }: ForgeError): boolean => kind === "unauthenticated" || kind === "forbidden"

/** Gives the function that counts one more, and tells why a person has to know by now; undefined for not yet. */
export const makeRefusals = Effect.map(Database, ({ clock, first, sql }) =>
  Effect.fnUntraced(function* (before: RefusedLooks | undefined, error: ForgeError) {
    const row = yield* first(sql<{ now: Timestamp }>`select ${yield* clock.at(0)} as now`)
    const at = row?.now ?? (yield* Effect.dieMessage("the database tells no time"))
    const refused: RefusedLooks = { since: before?.since ?? at, count: (before?.count ?? 0) + 1 }
    const lasts = refused.count >= leastLooks && toMillis(at) - toMillis(refused.since) >= leastMs
    const reason: LastingRefusal | undefined = lasts ? (isOfToken(error) ? "auth_required" : "branch_gone") : undefined
    return { refused, reason }
  })
)
