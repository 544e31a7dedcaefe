import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import { newId, ShareId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { isAccount, keyOf, type Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Context, Effect, Layer, ParseResult, Redacted, Schema } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { CreatedShare, Share } from "./Share.js"
import { shareStore } from "./ShareStore.js"
import type { ShareInput } from "./SharesApi.js"

/** The links with which anybody may read a session. */
export class Shares extends Context.Tag("@reins/core/shares/Shares")<
  Shares,
  {
    /**
     * Makes a link, whose token is given this once. Fails with `forbidden` for agents and automations, because only people and their keys let others
     * see a session, and with `RequestInvalid` for an expiry in the past.
     */
    readonly share: (
      principal: Principal,
      sessionId: string,
      input: ShareInput
    ) => Command<CreatedShare, Denied | RequestInvalid>
    /** The shares of a session, newest first, those that show nothing any more too. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Share>, Unseen | ReinsError<"invalid_cursor">>
    readonly get: (principal: Principal, shareId: string) => Effect.Effect<Share, Unseen>
    /** Takes a share back at once, also from pages that are open. Repeating it changes nothing. */
    readonly revoke: (principal: Principal, shareId: string) => Command<Share, Denied>
  }
>() {
  static readonly layer = Layer.effect(
    Shares,
    Effect.gen(function* () {
      const { publicUrl } = yield* CoreConfig
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const store = yield* shareStore

      const existing = (shareId: string) =>
        Effect.flatMap(store.find(shareId), (share) =>
          share === undefined ? Effect.fail(notFound()) : Effect.succeed(share)
        )

      return Shares.of({
        share: (principal, sessionId, { expires_at: expiresAt = null, includes = ["changes"] }) =>
          journal.command(
            "Shares.share",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const session = yield* sessions.writable(principal, sessionId)
              if (!isAccount(principal)) return yield* onlyPeople(session)
              yield* refusePast(expiresAt)
              const token = Redacted.make(`${tokenPrefix}${Redacted.value(yield* Token.random)}`)
              const stored = {
                id: yield* newId(ShareId),
                session_id: session.id,
                includes: [...new Set(includes)].sort(),
                created_at: yield* now,
                expires_at: expiresAt,
                revoked_at: null
              }
              yield* store.insert(
                {
                  ...stored,
                  workspace_id: session.workspace_id,
                  account_id: principal.accountId,
                  api_key_id: keyOf(principal)
                },
                token
              )
              const share: Share = { ...stored, state: "active", created_by: actorOf(principal) }
              yield* journal.append(session.id, actorOf(principal), [
                { type: "session.shared", payload: toPayload(share) }
              ])
              return { ...share, token: Redacted.value(token), url: `${publicUrl}/ui/shared#${Redacted.value(token)}` }
            })
          ),
        list: fn("Shares.list")(function* (principal, sessionId, page) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* store.list(session.id, page)
        }),
        get: fn("Shares.get")(function* (principal, shareId) {
          const share = yield* existing(shareId)
          yield* sessions.readable(principal, share.session_id)
          return share
        }),
        revoke: (principal, shareId) =>
          journal.command(
            "Shares.revoke",
            { by: principal, about: { type: "share", id: shareId } },
            Effect.gen(function* () {
              const { session_id } = yield* existing(shareId)
              const session = yield* sessions.writable(principal, session_id)
              const before = yield* existing(shareId)
              if (before.revoked_at !== null) return before
              yield* store.revoke(before.id)
              yield* journal.append(session.id, actorOf(principal), [
                { type: "session.unshared", payload: toPayload(before) }
              ])
              return yield* existing(shareId)
            })
          )
      })
    })
  )
}

/** The beginning of every token of a share. */
export const tokenPrefix = "rsh_"

const toPayload = ({ expires_at, id, includes }: Share) => ({ share_id: id, includes, expires_at })

const onlyPeople = ({ role, workspace_id }: { readonly role: string | null; readonly workspace_id: string }) =>
  new ReinsError({
    code: "forbidden",
    message: "Only people and their API keys share sessions. An agent or an automation may not.",
    details: { role, workspace_id }
  })

const refusePast = Effect.fnUntraced(function* (expiresAt: Timestamp | null) {
  if (expiresAt === null || expiresAt > (yield* now)) return
  return yield* new RequestInvalid({
    loc: ["body", "expires_at"],
    issue: new ParseResult.Type(Schema.String.ast, expiresAt, "The time of expiry must be in the future"),
    input: expiresAt
  })
})
