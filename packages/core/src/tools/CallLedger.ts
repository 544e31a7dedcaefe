import { hash } from "node:crypto"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { fn } from "@reins/base/base/Traced"
import { newId, ToolCallId, type TurnId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, toMillis } from "@reins/base/domain/Timestamp"
import type { OfferedCall, ToolAnswer } from "@reins/machine/relay/mcp/ToolOffer"
import { Context, Effect, Layer } from "effect"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import { type Turn, turnStates } from "../sessions/rows/Turn.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { ToolCallRecord, ToolCallState } from "./ToolCall.js"

/** The calls of tools, as rows. A call is written before its tool runs, so that one whose answer was lost is known. */
export class CallLedger extends Context.Tag("@reins/core/tools/CallLedger")<
  CallLedger,
  {
    /** Writes down a call that comes. It is a commit of its own. */
    readonly open: (turn: Turn, call: OfferedCall, key: string | null) => Effect.Effect<ToolCallId>
    /** Writes down the end of a call. It is a commit of its own. */
    readonly end: (id: ToolCallId, state: ToolCallState, answer: ToolAnswer | null) => Effect.Effect<void>
    /** The calls of a turn, newest first. */
    readonly list: (
      turnId: TurnId,
      page: PageRequest
    ) => Effect.Effect<Page<ToolCallRecord>, ReinsError<"invalid_cursor">>
  }
>() {
  static readonly layer = Layer.effect(
    CallLedger,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const listeners = yield* SessionListeners
      const { sql } = db

      yield* listeners.register({
        turnMoved: ({ id, state }) =>
          turnStates.isTerminal(state)
            ? Effect.flatMap(now, (at) =>
                db.run(sql`update tool_calls set state = 'outcome_unknown', ended_at = ${at}
                  where turn_id = ${id} and state = 'running'`)
              )
            : Effect.void
      })

      return CallLedger.of({
        open: fn("CallLedger.open")(function* (turn, { call_id, input, server, tool }, key) {
          const row: ToolCallRow = {
            id: yield* newId(ToolCallId),
            session_id: turn.session_id,
            turn_id: turn.id,
            server,
            tool,
            call_id,
            key,
            input_digest: digestOf(canonicalJson(input)),
            state: "running",
            opened_at: yield* now,
            ended_at: null,
            bytes: null,
            result_digest: null
          }
          yield* journal.commit(db.run(sql`insert into tool_calls ${sql.insert({ ...row })}`))
          return row.id
        }),
        end: fn("CallLedger.end")(function* (id, state, answer) {
          const change = {
            state,
            ended_at: yield* now,
            bytes: answer === null ? null : Buffer.byteLength(answer.text),
            result_digest: answer === null ? null : digestOf(answer.text)
          }
          yield* journal.commit(
            db.run(sql`update tool_calls set ${sql.update(change)} where id = ${id} and state = 'running'`)
          )
        }),
        list: fn("CallLedger.list")(function* (turnId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ToolCallRow>`select * from tool_calls
            where turn_id = ${turnId} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toRecord), limit, ({ id }) => id)
        })
      })
    })
  )
}

interface ToolCallRow extends Omit<ToolCallRecord, "duration_ms"> {}

const toRecord = (row: ToolCallRow): ToolCallRecord => ({
  ...row,
  duration_ms: row.ended_at === null ? null : toMillis(row.ended_at) - toMillis(row.opened_at)
})

const digestOf = (text: string): string => hash("sha256", text, "hex")
