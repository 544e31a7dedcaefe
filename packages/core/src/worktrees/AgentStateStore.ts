import { Context, Effect, Layer } from "effect"
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
  }
>() {
  static readonly layer = Layer.effect(
    AgentStateStore,
    Effect.map(Database, ({ run, sql }) =>
      AgentStateStore.of({
        change: (sessionId, change) =>
          Object.keys(change).length === 0
            ? Effect.void
            : run(sql`insert into agent_states ${sql.insert({ ...change, session_id: sessionId })}
                on conflict (session_id) do update set ${sql.update(change)}`)
      })
    )
  )
}
