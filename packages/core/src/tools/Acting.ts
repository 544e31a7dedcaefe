import type { Actor } from "@reins/base/domain/Event"
import { AccountId, ApiKeyId } from "@reins/base/domain/Ids"
import type { TurnPrincipal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { Access } from "../access/Access.js"
import { ApiKeyStore } from "../identity/ApiKeyStore.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { Database } from "../store/Database.js"
import { ToolSources } from "./ToolSources.js"

/** The account that an agent acts for, and the API key that made it act. */
interface Acting {
  readonly accountId: AccountId
  readonly keyId: ApiKeyId | null
}

/** The most turns that are looked at to find the account behind one. */
const longestChain = 100

/**
 * Finds the account that the agent of a turn acts for: the one that sent the message of the turn, or has it tried again. A message of an agent counts for the turn that
 * delegated. A message of the service counts for the turn before it.
 */
export const turnPrincipal = Effect.gen(function* () {
  const db = yield* Database
  const messages = yield* MessageStore
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const sources = yield* ToolSources
  const keys = yield* ApiKeyStore
  const { sql } = db

  const holderOf = (keyId: string) =>
    Effect.map(
      keys.accountOf(keyId),
      (accountId): Acting | undefined => accountId && { accountId, keyId: ApiKeyId.make(keyId) }
    )

  /** The turn that is asked next. */
  const behind = Effect.fnUntraced(function* (turn: Turn, author: string) {
    const session = yield* sessions.find(turn.session_id)
    if (session === undefined) return undefined
    if (author === "harness") {
      const id = yield* sources.delegatingTurnOf(session)
      return id === undefined ? undefined : yield* turns.find(id)
    }
    const before = yield* db.first(sql<{ id: string }>`select id from turns
      where session_id = ${session.id} and ordinal < ${turn.ordinal} order by ordinal desc limit 1`)
    return before === undefined ? undefined : yield* turns.find(before.id)
  })

  const actingIn = Effect.fnUntraced(function* (turn: Turn) {
    let asked: Turn | undefined = turn
    for (let left = longestChain; asked !== undefined && left > 0; left--) {
      const asker: Actor | undefined = yield* turns.askerOf(asked.id)
      const author: (Pick<Actor, "id"> & { readonly kind: string }) | undefined =
        asker ?? (yield* messages.find(asked.message_id))?.author
      if (author === undefined) return undefined
      const { id, kind }: NonNullable<typeof author> = author
      if (kind === "account") return { accountId: AccountId.make(id), keyId: null }
      if (kind === "api_key") return yield* holderOf(id)
      asked = yield* behind(asked, kind)
    }
    return undefined
  })

  return Effect.fnUntraced(function* (session: SessionRow, turn: Turn) {
    const acting: Acting | undefined = yield* actingIn(turn)
    if (acting === undefined) return undefined
    const principal: TurnPrincipal = {
      accountId: acting.accountId,
      scopes: ["read", "write"],
      workspaceId: session.workspace_id,
      via: {
        kind: "turn",
        sessionId: session.id,
        turnId: turn.id,
        providerId: session.provider_id,
        keyId: acting.keyId
      }
    }
    return principal
  })
})

/**
 * Gives the function that says if the agent of a turn may still act. It asks for the account as a request does. A revoked or expired key, a
 * disabled account, a lost membership and the role of a viewer end the right.
 */
export const makeMayCall = Effect.gen(function* () {
  const access = yield* Access
  const keys = yield* ApiKeyStore
  return Effect.fnUntraced(function* (principal: TurnPrincipal) {
    if (!(yield* keys.mayActFor(principal.accountId, principal.via.keyId))) return false
    return yield* Effect.isSuccess(access.writeWithin(principal, principal.workspaceId, [principal.via.sessionId]))
  })
})
