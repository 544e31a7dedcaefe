import { notFound } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import type { Operations } from "../store/Operation.js"
import { CallLedger } from "./CallLedger.js"
import type { operationErrors } from "./Errors.js"
import type { ToolCallsApi } from "./ToolCallsApi.js"

export const toolCalls = Effect.gen(function* () {
  const ledger = yield* CallLedger
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const operations: Operations<typeof ToolCallsApi, typeof operationErrors> = {
    list: Effect.fnUntraced(function* ({ path, principal, query }) {
      const turn = yield* turns.find(path.turn_id)
      if (turn === undefined) return yield* notFound()
      yield* sessions.readable(principal, turn.session_id)
      return yield* ledger.list(turn.id, query)
    })
  }
  return operations
})
