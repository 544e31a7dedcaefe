import type { Actor } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import { Context, Effect, Layer } from "effect"
import { type GitChoice, storedChoice } from "../sessions/creation/GitChoice.js"
import { type WorkspaceState, workspaceStates } from "../sessions/rows/Session.js"
import type { WorkingTree } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"

/** The origin of the files of a session. */
export type Base = Pick<WorkingTree, "base_commit" | "base_ref">

/** The states of the files of sessions. `SessionStore` reads them with their session, and adds what they start from. */
export class WorkingTreeStore extends Context.Tag("@reins/core/worktrees/WorkingTreeStore")<
  WorkingTreeStore,
  {
    /** Moves the files to a state. The caller keeps others from moving them. Dies for a move that is not drawn. */
    readonly move: (
      session: { readonly id: SessionId; readonly tree: { readonly state: WorkspaceState } },
      to: WorkspaceState,
      base?: Base
    ) => Effect.Effect<void, never, Commit>
    /** Gives a session another connection for git, and tells it. */
    readonly connect: (sessionId: SessionId, choice: GitChoice, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    WorkingTreeStore,
    Effect.gen(function* () {
      const { run, sql } = yield* Database
      const sessions = yield* SessionStore
      return WorkingTreeStore.of({
        move: Effect.fnUntraced(function* ({ id, tree }, to, base) {
          yield* Effect.orDie(workspaceStates.check(tree.state, to))
          const columns = { state: to, ...(base && { base_commit: base.base_commit, base_ref: base.base_ref }) }
          yield* run(sql`insert into working_trees ${sql.insert({ ...columns, session_id: id })}
            on conflict (session_id) do update set ${sql.update(columns)}`)
          yield* sessions.touch(id)
        }),
        connect: Effect.fnUntraced(function* (id, choice, actor) {
          const row = yield* sessions.lock(id)
          if (row !== undefined) yield* sessions.update(row, { git_connection: storedChoice(choice) }, actor)
        })
      })
    })
  )
}
