import { Effect } from "effect"
import { fn } from "../../base/Traced.js"
import type { SessionId } from "../../domain/Ids.js"
import type { Commit } from "../../store/Commit.js"
import type { Database } from "../../store/Database.js"
import { nowMs } from "../NodeClock.js"
import { NotOwner, type Place, type Placements, type SessionNeeds } from "../Placements.js"
import type { Tenure } from "./Tenure.js"

interface PlacementRow {
  readonly node_id: string | null
  readonly epoch: number
  readonly state: "placed" | "sealed" | "lost"
  readonly snapshot_id: string | null
}

const columns = "node_id, epoch, state, snapshot_id"

/** The placements of sessions as rows, which every node reads and only the node that is in them writes for. */
export const make = (
  { all, first, prepare, run, sql }: Database["Type"],
  tenure: Tenure,
  commit: <A, E>(inside: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E>
): Placements["Type"] => {
  const now = nowMs(sql)
  const self = tenure.holder.name
  const fields = sql.literal(columns)
  const moved: Array<(sessionId: SessionId, node: string) => Effect.Effect<void, never, Commit>> = []
  let needsOf = (_: SessionId): Effect.Effect<SessionNeeds> => Effect.succeed({ providerId: null, besideId: null })

  const placeOf = (row: PlacementRow | undefined): Place => {
    if (row === undefined) return { kind: "nowhere" }
    const { epoch, node_id: node, snapshot_id: snapshotId, state } = row
    if (state !== "placed" || node === null) return { kind: state === "lost" ? "lost" : "sealed", epoch, snapshotId }
    return node === self ? { kind: "here", node, epoch } : { kind: "elsewhere", node, epoch }
  }

  const lookUp = prepare((id: string) => sql<PlacementRow>`select ${fields} from placements where session_id = ${id}`)
  const at = (sessionId: SessionId) => Effect.map(first(lookUp(sessionId)), placeOf)

  const held = prepare(
    (id: string, epoch: number) => sql<{ epoch: number }>`select epoch from placements
      where session_id = ${id} and node_id = ${self} and node_epoch = ${epoch} and state = 'placed' for share`
  )

  const holds = (sessionId: SessionId) =>
    Effect.suspend(() =>
      tenure.holds()
        ? Effect.map(first(held(sessionId, tenure.holder.epoch)), (row) => row !== undefined)
        : Effect.succeed(false)
    )

  const place = fn("Placements.place")(function* (sessionId: SessionId, node: string) {
    const [row] = yield* all(sql<PlacementRow>`insert into placements
        (session_id, node_id, node_epoch, epoch, state, snapshot_id, placed_at)
      select ${sessionId}, name, epoch, 1, 'placed', null, ${now} from nodes
        where name = ${node} and state = 'active' and role <> 'api' and expires_at > ${now}
      on conflict (session_id) do update set node_id = excluded.node_id, node_epoch = excluded.node_epoch,
        epoch = placements.epoch + 1, state = 'placed', placed_at = excluded.placed_at
      where placements.node_id is null and (placements.state = 'sealed' or placements.snapshot_id is not null)
      returning ${fields}`)
    const found = row === undefined ? yield* at(sessionId) : placeOf(row)
    if (found.kind === "here" || found.kind === "elsewhere")
      yield* Effect.forEach(moved, (listener) => listener(sessionId, found.node ?? self), { discard: true })
    return found
  })

  /** The node that suits a session best: its agent is installed, the session beside which it should be is there, and it has the least to do. */
  const choose = Effect.fnUntraced(function* (sessionId: SessionId) {
    const { besideId, providerId } = yield* needsOf(sessionId)
    // A node tells its load with each renewal, so what was placed since then counts as well.
    return yield* first(sql<{ name: string }>`select name from nodes
      where state = 'active' and role <> 'api' and expires_at > ${now}
      order by
        case when jsonb_exists(cast(providers as jsonb), ${providerId ?? ""}) then 0 else 1 end,
        case when name = (select node_id from placements where session_id = ${besideId ?? ""}) then 0 else 1 end,
        load + (select count(*) from placements where node_id = nodes.name and placed_at > ${now} - ${recentMs}::bigint),
        name
      limit 1`)
  })

  return {
    at,
    place,
    adopt: (sessionIds) =>
      run(sql`insert into placements (session_id, node_id, node_epoch, epoch, state, snapshot_id, placed_at)
        select id, ${self}, ${tenure.holder.epoch}, 1, 'placed', null, ${now}
        from json_array_elements_text(cast(${JSON.stringify(sessionIds)} as json)) as ids (id)
        on conflict (session_id) do nothing`),
    holds,
    settle: fn("Placements.settle")(function* (sessionId: SessionId) {
      const before = yield* at(sessionId)
      if (before.kind === "here" || before.kind === "elsewhere")
        return yield* commit(place(sessionId, before.node ?? self))
      const node = yield* choose(sessionId)
      return node === undefined ? before : yield* commit(place(sessionId, node.name))
    }),
    fence: (sessionId) =>
      Effect.flatMap(holds(sessionId), (isHeld) => (isHeld ? Effect.void : Effect.die(new NotOwner({ sessionId })))),
    isHere: (sessionId) =>
      sql` and exists (select 1 from placements where session_id = ${sessionId} and node_id = ${self} and state = 'placed')`,
    onPlaced: (listener) => Effect.sync(() => void moved.push(listener)),
    describe: (describer) =>
      Effect.sync(() => {
        needsOf = describer
      })
  }
}

/** The time for which a placement counts although its node has not told of it, in milliseconds: two renewals. */
const recentMs = 10_000
