import type { Principal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { Access } from "../access/Access.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import { type SessionFilter, selectionOf } from "./rows/SessionFilters.js"
import { configuredRules } from "./rows/SessionRules.js"
import { SessionStore } from "./rows/SessionStore.js"
import { toSession } from "./SessionView.js"
import { sessionSearch } from "./search/SessionSearch.js"

/** The inside of `Sessions.list`. */
export const makeList = Effect.gen(function* () {
  const db = yield* Database
  const access = yield* Access
  const sessions = yield* SessionStore
  const search = yield* sessionSearch
  const { sessionActions } = yield* configuredRules

  return Effect.fnUntraced(function* (principal: Principal, workspaceId: string, filter: SessionFilter) {
    const role = yield* access.read(principal, workspaceId)
    const { before, limit } = yield* Keyset.descending(filter)
    const wanted = { before, limit: limit + 1 }
    const rows =
      filter.q === undefined
        ? yield* sessions.select(selectionOf(db, workspaceId, filter, wanted))
        : yield* search(workspaceId, filter, filter.q, wanted)
    return Keyset.page(
      rows.map((row) => toSession(row, sessionActions(principal, role, row))),
      limit,
      (session) => session.id
    )
  })
})
