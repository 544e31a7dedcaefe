import type { Actor } from "@reins/base/domain/Event"
import { newId, SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { now } from "@reins/base/domain/Timestamp"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { FollowerStore } from "@reins/core/events/FollowerStore"
import { WorkspaceEvents } from "@reins/core/events/WorkspaceEvents"
import { WorkspaceFeed } from "@reins/core/events/WorkspaceFeed"
import { Accounts } from "@reins/core/identity/Accounts"
import { noUsage, noUsageStored } from "@reins/core/sessions/rows/Session"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { identity, newAccount } from "@reins/testing/identity/Identity"
import { Effect, Layer } from "effect"

/** The event log and feed on a database. */
export const events = (database: Layer.Layer<Database | Bell>) =>
  Layer.merge(EventFeed.layer, WorkspaceFeed.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(EventLog.layer, FollowerStore.layer, WorkspaceEvents.layer)),
    Layer.provideMerge(identity(database))
  )

/** Somebody with a session that has no events yet. */
export const newSession = Effect.gen(function* () {
  const account = yield* newAccount
  const principal: Principal = {
    accountId: account.id,
    scopes: ["read", "write", "admin"],
    workspaceId: null,
    via: { kind: "embedded" }
  }
  const me = yield* (yield* Accounts).me(principal)
  const workspaceId = me.workspaces[0]?.id ?? ""
  return { principal, workspaceId, sessionId: yield* addSession(workspaceId) }
})

/** Another session of a workspace. */
export const addSession = (workspaceId: string, labels: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const db = yield* Database
    const sessionId = yield* newId(SessionId)
    const at = yield* now
    yield* db.run(
      db.sql`insert into sessions ${db.sql.insert({
        id: sessionId,
        workspace_id: workspaceId,
        labels: JSON.stringify(labels),
        provider_id: "alpha",
        backend: "local",
        auto_capture: 1,
        lifecycle: "open",
        usage: noUsageStored,
        event_watermark: 0,
        message_count: 0,
        turn_count: 0,
        version: 1,
        created_at: at,
        updated_at: at
      })}`
    )
    return sessionId
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

/** Appends events that belong to the stream of the workspace in one commit: tokens used, as many as their number says. */
export const appendUsage = (sessionId: SessionId, numbers: ReadonlyArray<number>) =>
  Effect.flatMap(Journal, (journal) =>
    journal.commit(
      journal.append(
        sessionId,
        actor,
        numbers.map((number) => ({
          type: "usage.observed",
          payload: { usage: { ...noUsage, input_tokens: number }, context_used: null, context_size: null }
        }))
      )
    )
  )
