import type { Actor } from "@reins/core/domain/Event"
import { newId, SessionId } from "@reins/core/domain/Ids"
import type { Principal } from "@reins/core/domain/Principal"
import { noUsage } from "@reins/core/domain/Session"
import { now } from "@reins/core/domain/Timestamp"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { Accounts } from "@reins/core/identity/Accounts"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { identity, newAccount } from "@reins/testing/identity/Identity"
import { Effect, Layer } from "effect"

/** The event log and feed on a database. */
export const events = (database: Layer.Layer<Database | Bell>) =>
  EventFeed.layer.pipe(Layer.provideMerge(EventLog.layer), Layer.provideMerge(identity(database)))

/** Somebody with a session that has no events yet. */
export const newSession = Effect.gen(function* () {
  const db = yield* Database
  const accounts = yield* Accounts
  const account = yield* newAccount
  const principal: Principal = {
    accountId: account.id,
    scopes: ["read", "write", "admin"],
    workspaceId: null,
    via: { kind: "embedded" }
  }
  const me = yield* accounts.me(principal)
  const sessionId = yield* newId(SessionId)
  const at = yield* now
  yield* db.run(
    db.sql`insert into sessions ${db.sql.insert({
      id: sessionId,
      workspace_id: me.workspaces[0]?.id ?? "",
      labels: "{}",
      provider_id: "alpha",
      backend: "local",
      lease_state: "none",
      workspace_state: "none",
      auto_capture: 1,
      context_lost: 0,
      lifecycle: "open",
      usage: JSON.stringify(noUsage),
      event_watermark: 0,
      message_count: 0,
      turn_count: 0,
      version: 1,
      created_at: at,
      updated_at: at
    })}`
  )
  return { principal, sessionId }
})

const actor: Actor = { kind: "system", id: "test" }

/** Appends events in one commit: diagnostics whose line is their number, followed by `padding`. */
export const append = (sessionId: SessionId, numbers: ReadonlyArray<number>, padding = "") =>
  Effect.flatMap(Journal, (journal) =>
    journal.commit(
      journal.append(
        sessionId,
        actor,
        numbers.map((number) => ({
          type: "diagnostic.reported",
          payload: { kind: "test", line: `${number}${padding}` }
        }))
      )
    )
  )
