import type { Principal } from "@reins/base/domain/Principal"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import type { OfferedCall } from "@reins/machine/relay/mcp/ToolOffer"
import { Effect } from "effect"
import { begin } from "../delegations/Children.js"

let calls = 0

/** The agent of the queued turn of a session, which begins: what its model gets for a call. */
export const agentOf = Effect.fnUntraced(function* (principal: Principal, sessionId: string) {
  const row = yield* (yield* SessionStore).find(sessionId)
  if (row === undefined) return yield* Effect.dieMessage("there is no session")
  const turnId = yield* begin(principal, row.id)
  const turn = yield* (yield* TurnStore).find(turnId)
  if (turn === undefined) return yield* Effect.dieMessage("there is no turn")
  const call = yield* (yield* ToolRuns).of(row, turn)
  return {
    sessionId: row.id,
    turn,
    call: (tool: string, input: unknown = {}, more: Partial<OfferedCall> = {}) =>
      call({ server: "reins", tool, call_id: `call-${++calls}`, input, hears_progress: true, ...more })
  }
})

/** A session with a turn that runs, whose agent calls tools. */
export const newAgent = Effect.fnUntraced(function* (principal: Principal, workspaceId: string) {
  const session = yield* (yield* Sessions).create(principal, workspaceId, {})
  yield* (yield* Messages).send(principal, session.id, { content: "Do it." })
  return yield* agentOf(principal, session.id)
})

/** An answer of the tools that delegate. */
export interface ToolValue {
  readonly [field: string]: unknown
  readonly session_id: string
  readonly delegation_id: string
}

/** The value of an answer that is JSON. */
export const valueOf = ({ text }: { readonly text: string }): ToolValue => JSON.parse(text)
