import { makeHearers } from "@reins/base/base/Hearers"
import { fn } from "@reins/base/base/Traced"
import type { SessionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import type { Database } from "../../store/Database.js"
import type { Journal } from "../../store/Journal.js"
import type { Times } from "../LeaseTimes.js"
import { isGivenUp, nowMs } from "../NodeClock.js"
import { heldBy } from "../NodeRows.js"
import { NotOwner, type Place, type PlacedListener, type Placements, type SessionNeeds } from "../Placements.js"
import * as ExpectedSessions from "./ExpectedSessions.js"
import type { Tenure } from "./Tenure.js"

interface PlacementRow {
  readonly node_id: string | null
  readonly epoch: number
  /** `awaited` is placed, but its files are not there yet. */
  readonly state: "placed" | "awaited" | "sealed" | "lost"
}

const columns = "node_id, epoch, state"

/**
 * Chooses the node that suits a session best: its agent is installed, the session beside which it should be is there, and it has the least to do. Idle
 * nodes take turns.
 */
const choose = ({ first, sql }: Database["Type"], { besideId, providerId }: SessionNeeds, renewMs: number) => {
  const now = nowMs(sql)
  // A node tells its load with each renewal, so what was placed since the renewal before counts as well.
  return first(sql<{ name: string }>`select name from nodes
    where state = 'active' and role <> 'api' and expires_at > ${now}
    order by
      case when jsonb_exists(cast(providers as jsonb), ${providerId ?? ""}) then 0 else 1 end,
      case when name = (select node_id from placements where session_id = ${besideId ?? ""}) then 0 else 1 end,
      load + (select count(*) from placements where node_id = nodes.name and placed_at > ${now} - ${2 * renewMs}::bigint),
      coalesce((select max(placed_at) from placements where node_id = nodes.name), 0),
      name
    limit 1`)
}

/** The place that a row stands for, as a node sees it. */
const placeFor =
  (self: string) =>
  (row: PlacementRow | undefined): Place => {
    if (row === undefined) return { kind: "nowhere" }
    const { epoch, node_id: node, state } = row
    if (node === null) return { kind: state === "lost" ? "lost" : "sealed", epoch }
    return node === self
      ? { kind: "here", node, epoch, awaited: state === "awaited" }
      : { kind: "elsewhere", node, epoch }
  }

/** The placements of sessions as rows, which every node reads and only the node that is in them writes for. */
export const make = (
  db: Database["Type"],
  tenure: Tenure,
  journal: Pick<Journal["Type"], "commit" | "ringAfterCommit">,
  { reclaimMs, renewMs }: Pick<Times, "renewMs"> & { readonly reclaimMs: number }
): Placements["Type"] => {
  const { all, first, prepare, run, sql } = db
  const { commit } = journal
  const expected = ExpectedSessions.make(db, journal)
  const now = nowMs(sql)
  const self = tenure.holder.name
  const fields = sql.literal(columns)
  const hearers = makeHearers<PlacedListener>()
  let needsOf = (_: SessionId): Effect.Effect<SessionNeeds> => Effect.succeed({ providerId: null, besideId: null })

  const placeOf = placeFor(self)
  const lookUp = prepare((id: string) => sql<PlacementRow>`select ${fields} from placements where session_id = ${id}`)
  const at = (sessionId: SessionId) => Effect.map(first(lookUp(sessionId)), placeOf)

  const held = prepare(
    (id: string, epoch: number) => sql<{ epoch: number }>`select epoch from placements
      where session_id = ${id} and node_id = ${self} and node_epoch = ${epoch} for share`
  )

  const holds = (sessionId: SessionId) =>
    Effect.suspend(() =>
      tenure.holds()
        ? Effect.map(first(held(sessionId, tenure.holder.epoch)), (row) => row !== undefined)
        : Effect.succeed(false)
    )

  const tell: PlacedListener = (sessionId, node) => hearers.tell((hear) => hear(sessionId, node))

  const place = fn("Placements.place")(function* (sessionId: SessionId, node: string) {
    const [row] = yield* all(sql<PlacementRow>`insert into placements
        (session_id, node_id, node_epoch, epoch, state, placed_at)
      select ${sessionId}, name, epoch, 1, 'placed', ${now} from nodes
        where name = ${node} and state = 'active' and role <> 'api' and expires_at > ${now}
      on conflict (session_id) do update set node_id = excluded.node_id, node_epoch = excluded.node_epoch,
        epoch = placements.epoch + 1, state = 'awaited', placed_at = excluded.placed_at
      where placements.node_id is null or ${isGivenUp(sql, sql`placements.node_id`, reclaimMs)}
      returning ${fields}`)
    const found = row === undefined ? yield* at(sessionId) : placeOf(row)
    if (found.kind === "here" || found.kind === "elsewhere") yield* Effect.orDie(tell(sessionId, found.node))
    return found
  })

  const isGone = (node: string) =>
    Effect.map(
      first(sql`select 1 as given_up where ${isGivenUp(sql, sql`${node}`, reclaimMs)}`),
      (row) => row !== undefined
    )

  const settle = fn("Placements.settle")(function* (sessionId: SessionId) {
    const before = yield* at(sessionId)
    const isKept = before.kind === "here" || (before.kind === "elsewhere" && !(yield* isGone(before.node)))
    if (isKept) return yield* commit(place(sessionId, before.node ?? self))
    const node = yield* choose(db, yield* needsOf(sessionId), renewMs)
    return node === undefined ? before : yield* commit(place(sessionId, node.name))
  })

  return {
    at,
    place,
    expect: Effect.fnUntraced(function* (sessionId) {
      const found = yield* settle(sessionId)
      if (found.kind === "here" || found.kind === "elsewhere") yield* expected.note(sessionId, found.node ?? self)
    }),
    expected: expected.take(self),
    restored: (sessionId) =>
      Effect.flatMap(
        first(sql`update placements set state = 'placed'
          where session_id = ${sessionId} and node_id = ${self} and node_epoch = ${tenure.holder.epoch} returning epoch`),
        (row) => (row === undefined ? Effect.die(new NotOwner({ sessionId })) : Effect.void)
      ),
    leave: fn("Placements.leave")(function* (sessionId: SessionId) {
      const left = yield* first(sql`update placements set node_id = null, node_epoch = null, epoch = epoch + 1,
        state = 'sealed' where session_id = ${sessionId} and node_id = ${self}
        and node_epoch = ${tenure.holder.epoch} and state = 'placed' returning epoch`)
      if (left !== undefined) yield* tell(sessionId, null)
    }),
    remove: (sessionId) => run(sql`delete from placements where session_id = ${sessionId}`),
    held: (limit) => heldBy(db, self, limit),
    adopt: (sessionIds) =>
      Effect.map(
        all(sql<{ session_id: SessionId }>`insert into placements
          (session_id, node_id, node_epoch, epoch, state, placed_at)
        select id, ${self}, ${tenure.holder.epoch}, 1, 'placed', ${now}
        from json_array_elements_text(cast(${JSON.stringify(sessionIds)} as json)) as ids (id)
        on conflict (session_id) do nothing returning session_id`),
        (rows) => rows.map((row) => row.session_id)
      ),
    holds,
    settle,
    fence: (sessionId) =>
      Effect.flatMap(holds(sessionId), (isHeld) => (isHeld ? Effect.void : Effect.die(new NotOwner({ sessionId })))),
    isHere: (sessionId) =>
      sql` and exists (select 1 from placements where session_id = ${sessionId} and node_id = ${self} and state = 'placed')`,
    isSettled: (sessionId, node) =>
      sql`exists (select 1 from placements where session_id = ${sessionId} and node_id = ${node})
        and not ${isGivenUp(sql, node, reclaimMs)}`,
    onPlaced: hearers.register,
    describe: (describer) =>
      Effect.sync(() => {
        needsOf = describer
      })
  }
}
