import { randomBytes } from "node:crypto"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Redacted } from "effect"
import type { Database } from "../store/Database.js"
import { type AutomationRow, automationTarget } from "./AutomationStore.js"
import { marksLength, payloadText, withPayload } from "./PayloadText.js"
import type { RunRow } from "./RunStore.js"

/** The record that the payloads of an automation are sealed for. */
const contextOf = (workspaceId: string, automationId: string): string =>
  `automation_payload|${workspaceId}|${automationId}`

/** The data of hooks for the messages of runs. It is kept sealed, because it may hold secrets. */
export const makePayloads = Effect.gen(function* () {
  const vault = yield* Vault
  const { limits } = yield* CoreConfig

  return {
    /** Seals the part of a body that an automation wants; null for nothing. */
    seal: Effect.fnUntraced(function* (row: AutomationRow, body: unknown, pick: ReadonlyArray<string> | undefined) {
      const room = limits.messageCharacters - automationTarget(row).message.length - marksLength
      const text = payloadText(body, pick, room)
      return text === undefined ? null : yield* vault.seal(Redacted.make(text), contextOf(row.workspace_id, row.id))
    }),
    /** The message of an automation with what the hook of a run brought below it. */
    append: Effect.fnUntraced(function* (message: string, { automation_id, payload, workspace_id }: RunRow) {
      if (payload === null) return message
      const text = yield* Effect.orDie(vault.unseal(payload, contextOf(workspace_id, automation_id)))
      return withPayload(message, Redacted.value(text), randomBytes(12).toString("hex"))
    })
  }
})

interface SealedRow {
  readonly id: string
  readonly automation_id: string
  readonly workspace_id: string
  readonly payload: string
}

/** The payloads of runs that have not begun. Those of others are only there for a retry, for 7 days, and are not sealed anew. */
export const payloadRecords = ({ all, run, sql }: Database["Type"]): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(
    all(sql<SealedRow>`select id, automation_id, workspace_id, payload from automation_runs
      where payload is not null and state = 'waiting' order by id`),
    (rows) =>
      rows.map(({ automation_id, id, payload, workspace_id }) => ({
        sealed: payload,
        context: contextOf(workspace_id, automation_id),
        replace: (again: string) =>
          run(sql`update automation_runs set payload = ${again} where id = ${id} and payload = ${payload}`)
      }))
  )
