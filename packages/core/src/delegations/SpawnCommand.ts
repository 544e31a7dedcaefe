import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { Access, actorOf } from "../access/Access.js"
import { Inbox } from "../sessions/Inbox.js"
import { ResultSchemas } from "../sessions/results/ResultSchemas.js"
import { TurnResults } from "../sessions/results/TurnResults.js"
import { sessionRules } from "../sessions/rows/SessionRules.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"
import type { DelegationInput } from "./DelegationsApi.js"
import { makeSpawn } from "./Spawning.js"

/** Checks the schema of the result. This may take a while, so it comes before the commit that makes the delegation. */
export const spawnPreparation = Effect.gen(function* () {
  const access = yield* Access
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const inbox = yield* Inbox
  const schemas = yield* ResultSchemas
  const make = yield* makeSpawn
  const results = yield* TurnResults

  const inside = Effect.fnUntraced(function* (principal: Principal, sessionId: string, input: DelegationInput) {
    const actor = actorOf(principal)
    const parent = yield* sessions.writable(principal, sessionId)
    yield* requireAll(sessionRules.delegate, parent)
    const { child, delegation } = yield* make(principal, parent, input)
    const { operation, turn_id: turnId } = yield* inbox.post(
      child,
      actor,
      { content: input.instructions },
      "delegation"
    )
    if (operation === undefined || turnId === undefined) return yield* Effect.dieMessage("a queued message has no turn")
    if (input.result_schema !== undefined)
      yield* results.ask({ id: turnId, session_id: child.id }, { schema: input.result_schema, isRequired: false })
    const watermark = yield* journal.append(parent.id, actor, [])
    return { operation, delegation, event_watermark: watermark }
  })

  return Effect.fnUntraced(function* (principal: Principal, sessionId: string, input: DelegationInput) {
    const seen = yield* sessions.readable(principal, sessionId)
    yield* access.writeWithin(principal, seen.workspace_id, [seen.id, seen.lineage.parent_session_id])
    yield* schemas.checkSchema(input.result_schema)
    return inside(principal, sessionId, input)
  })
})
