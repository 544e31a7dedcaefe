import { Effect } from "effect"
import { Access } from "../access/Access.js"
import type { Principal } from "../domain/Principal.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import { type SessionFilter, selectionOf } from "./SessionFilters.js"
import { configuredRules } from "./SessionRules.js"
import { SessionStore } from "./SessionStore.js"
import { toSession } from "./SessionView.js"

/** The inside of `Sessions.list`. */
export const makeList = Effect.gen(function* () {
  const db = yield* Database
  const access = yield* Access
  const sessions = yield* SessionStore
  const { sessionActions } = yield* configuredRules

  return Effect.fnUntraced(function* (principal: Principal, workspaceId: string, filter: SessionFilter) {
    const role = yield* access.read(principal, workspaceId)
    const { before, limit } = yield* Keyset.descending(filter)
    const rows = yield* sessions.select(selectionOf(db, workspaceId, filter, { before, limit: limit + 1 }))
    return Keyset.page(
      rows.map((row) => toSession(row, sessionActions(principal, role, row))),
      limit,
      (session) => session.id
    )
  })
})
