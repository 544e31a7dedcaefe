import { fn } from "@reins/base/base/Traced"
import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Unseen } from "../../access/Access.js"
import { SessionStore } from "../rows/SessionStore.js"
import { addCounts } from "../rows/UsageSum.js"
import type { SessionUsage, UsageQuery, WorkspaceUsage } from "./Usage.js"
import { usageGroups } from "./UsageGroups.js"
import { type ModelCounts, usageStore } from "./UsageStore.js"

/**
 * The tokens and the cost of sessions, as gateways said them to the relay, and as agents did where no call passes through it. Unknown figures
 * are null, and each sum tells over how many turns it was taken.
 */
export class Usages extends Context.Tag("@reins/core/sessions/usage/Usages")<
  Usages,
  {
    /** The usage of a session over its turns that have ended. */
    readonly session: (principal: Principal, sessionId: string) => Effect.Effect<SessionUsage, Unseen>
    /**
     * The usage of a workspace over the turns that ended within the days, which are inclusive and in UTC, with a page of its groups where
     * the query asks for some.
     */
    readonly workspace: (
      principal: Principal,
      workspaceId: string,
      query: UsageQuery
    ) => Effect.Effect<WorkspaceUsage, Unseen | ReinsError<"invalid_cursor">>
  }
>() {
  static readonly layer = Layer.effect(
    Usages,
    Effect.gen(function* () {
      const access = yield* Access
      const sessions = yield* SessionStore
      const store = yield* usageStore
      const groups = yield* usageGroups
      return Usages.of({
        session: fn("Usages.session")(function* (principal, sessionId) {
          const session = yield* sessions.readable(principal, sessionId)
          const own = summed(yield* store.ofSession(session.id))
          return {
            session_id: session.id,
            ...own,
            with_delegations: addCounts(yield* store.ofTree(session.id))
          }
        }),
        workspace: fn("Usages.workspace")(function* (principal, workspaceId, query) {
          yield* access.read(principal, workspaceId)
          const id = WorkspaceId.make(workspaceId)
          const { from = "0000-01-01", group_by = null, to = "9999-12-31" } = query
          const models = yield* store.ofWorkspace(id, from, to)
          const page = group_by === null ? none : yield* groups(group_by, { id, from, to }, query)
          const days = { from: query.from ?? null, to: query.to ?? null }
          return {
            workspace_id: id,
            ...days,
            ...summed(models),
            group_by,
            groups: page.items,
            next_cursor: page.next_cursor
          }
        })
      })
    })
  )
}

const none = { items: [], next_cursor: null }

const summed = (models: ReadonlyArray<ModelCounts>) => ({
  total: addCounts(models),
  by_model: [...models].sort((a, b) => b.turns - a.turns || a.provider_id.localeCompare(b.provider_id))
})
