import { Context, Effect, Layer } from "effect"
import type { SnapshotManifest } from "../bench/snapshots/SnapshotManifest.js"
import type { SessionId } from "../domain/Ids.js"
import type { AgentState } from "../sessions/SessionRow.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"

/** The facts about the memory that agents keep for themselves. `SessionStore` reads them with the session. */
export class AgentStateStore extends Context.Tag("@reins/core/worktrees/AgentStateStore")<
  AgentStateStore,
  {
    /** Changes what is given, and leaves the rest. */
    readonly change: (sessionId: SessionId, change: Partial<AgentState>) => Effect.Effect<void, never, Commit>
    /** Has the agent go on from the native session of a snapshot. */
    readonly goOnFrom: (sessionId: SessionId, native: SnapshotManifest["native"]) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    AgentStateStore,
    Effect.map(Database, ({ run, sql }) => {
      const change = (sessionId: SessionId, change: Partial<AgentState>) =>
        Object.keys(change).length === 0
          ? Effect.void
          : run(sql`insert into agent_states ${sql.insert({ ...change, session_id: sessionId })}
              on conflict (session_id) do update set ${sql.update(change)}`)
      return AgentStateStore.of({
        change,
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
