import type { SessionId } from "@reins/base/domain/Ids"
import type { SnapshotManifest } from "@reins/machine/bench/snapshots/SnapshotManifest"
import { Context, Effect, Layer } from "effect"
import type { AgentState } from "../sessions/rows/SessionRow.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"

/** `told` is read by itself, because only turns ask for it. */
type StoredState = AgentState & { readonly told: string | null }

/** The facts about the memory that agents keep for themselves. `SessionStore` reads them with the session. */
export class AgentStateStore extends Context.Tag("@reins/core/worktrees/AgentStateStore")<
  AgentStateStore,
  {
    /** Changes what is given, and leaves the rest. */
    readonly change: (sessionId: SessionId, change: Partial<StoredState>) => Effect.Effect<void, never, Commit>
    /** The digests of what the agent has reported of itself last, by type of event, as JSON; null for nothing. */
    readonly told: (sessionId: SessionId) => Effect.Effect<string | null>
    /** Has the agent go on from the native session of a snapshot. */
    readonly goOnFrom: (sessionId: SessionId, native: SnapshotManifest["native"]) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    AgentStateStore,
    Effect.map(Database, ({ first, prepare, run, sql }) => {
      const told = prepare(
        (id: string) => sql<Pick<StoredState, "told">>`select told from agent_states where session_id = ${id}`
      )
      const change = (sessionId: SessionId, change: Partial<StoredState>) =>
        Object.keys(change).length === 0
          ? Effect.void
          : run(sql`insert into agent_states ${sql.insert({ ...change, session_id: sessionId })}
              on conflict (session_id) do update set ${sql.update(change)}`)
      return AgentStateStore.of({
        change,
        told: (sessionId) => Effect.map(first(told(sessionId)), (row) => row?.told ?? null),
        goOnFrom: (sessionId, { cost, digest, session_id }) =>
          change(sessionId, {
            native_session_id: session_id,
            native_candidate: null,
            native_digest: digest,
            native_cost: cost
          })
      })
    })
  )
}
