import { clientNetwork } from "@reins/base/base/ClientNetwork"
import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { SharePrincipal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { Changesets } from "../changes/Changesets.js"
import * as Throttle from "../identity/Throttle.js"
import { Messages } from "../sessions/Messages.js"
import { activityOf } from "../sessions/rows/SessionActivity.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { type Mask, secretMask } from "../sessions/SecretMask.js"
import { Bell, sessionTopic } from "../store/Bell.js"
import { Journal } from "../store/Journal.js"
import type { SharedChangeset, SharedDiff, SharedMessage, SharedSession } from "./Share.js"
import { isShown, toSharedChangeset, toSharedMessage } from "./SharedView.js"
import { type StoredShare, shareStore } from "./ShareStore.js"

/** The token of a link, and the machine that it comes from. */
export interface Visitor {
  readonly token: Redacted.Redacted | undefined
  readonly clientAddress: string
}

/**
 * The link is unknown, taken back or over, or its session is gone: all are answered alike. After 50 such answers within 15 minutes a client gets
 * no other.
 */
export type LinkRefused = ReinsError<"not_found" | "rate_limited">

/**
 * Sessions as links show them, read with the rights of those who shared them, without secrets. A link shows one session: it reaches no other one,
 * no files, no members and no credentials.
 */
export class SharedSessions extends Context.Tag("@reins/core/shares/SharedSessions")<
  SharedSessions,
  {
    readonly session: (visitor: Visitor) => Effect.Effect<SharedSession, LinkRefused>
    /** The messages, oldest first. */
    readonly messages: (
      visitor: Visitor,
      page: PageRequest
    ) => Effect.Effect<Page<SharedMessage>, LinkRefused | ReinsError<"invalid_cursor">>
    /** The sealed changesets, newest first; none where the link does not include `changes`. */
    readonly changesets: (
      visitor: Visitor,
      page: PageRequest
    ) => Effect.Effect<Page<SharedChangeset>, LinkRefused | ReinsError<"invalid_cursor">>
    /** The diff of a changeset of the session. Fails with `not_found` where the link does not include `changes`. */
    readonly diff: (
      visitor: Visitor,
      changesetId: string
    ) => Effect.Effect<SharedDiff, LinkRefused | ReinsError<"executor_unavailable" | "invalid_transition">>
    /** Waits for a watermark above the given one, for 25 seconds at most and at the latest until `cutShort` completes. */
    readonly watermark: (
      visitor: Visitor,
      after: number | undefined,
      cutShort?: Effect.Effect<void>
    ) => Effect.Effect<number, LinkRefused>
  }
>() {
  static readonly layer = Layer.effect(
    SharedSessions,
    Effect.gen(function* () {
      const enter = yield* makeEnter
      const messages = yield* Messages
      const changesets = yield* Changesets
      const change = yield* makeAwaitChange

      return SharedSessions.of({
        session: fn("SharedSessions.session")(function* (visitor) {
          const { mask, session, share } = yield* enter(visitor)
          return yield* mask(toSharedSession(session, share))
        }),
        messages: fn("SharedSessions.messages")(function* (visitor, page) {
          const { mask, principal, session, share } = yield* enter(visitor)
          const { items, next_cursor } = yield* messages.list(principal, session.id, page)
          const shown = items.filter(isShown).map((message) => toSharedMessage(message, share.includes))
          return { items: yield* mask(shown), next_cursor }
        }),
        changesets: fn("SharedSessions.changesets")(function* (visitor, page) {
          const { mask, principal, session, share } = yield* enter(visitor)
          if (!share.includes.includes("changes")) return { items: [], next_cursor: null }
          const found = yield* changesets.list(principal, session.id, { ...page, state: "ready" })
          return { items: yield* mask(found.items.map(toSharedChangeset)), next_cursor: found.next_cursor }
        }),
        diff: fn("SharedSessions.diff")(function* (visitor, changesetId) {
          const { mask, principal, session, share } = yield* enter(visitor)
          const changeset = yield* changesets.get(principal, changesetId)
          if (changeset.session_id !== session.id || !share.includes.includes("changes")) return yield* badLink
          const { diff, truncated } = yield* changesets.diff(principal, changeset.id, {})
          return yield* mask({ diff, truncated })
        }),
        watermark: fn("SharedSessions.watermark")(function* (visitor, after, cutShort = Effect.never) {
          const { session } = yield* enter(visitor)
          if (after === undefined || session.event_watermark > after) return session.event_watermark
          yield* Effect.raceFirst(change(session.id, after, enter(visitor)), cutShort).pipe(
            Effect.timeoutOption(patience),
            Effect.interruptible
          )
          return (yield* enter(visitor)).session.event_watermark
        })
      })
    })
  )
}

/** The longest time that a request is held. */
const patience = Duration.seconds(25)

/** The longest delay of an answer after a lost ring, and of the end of a link that nobody took back. */
const pollMs = 5000

/** Links that were refused, of one client. */
const wrongLinks: Throttle.ThrottleLimit = { kind: "share client", max: 50, windowMs: 15 * 60 * 1000 }

const badLink = new ReinsError({
  code: "not_found",
  message: "This link shows nothing, or nothing any more. Ask for a new one."
})

/** The session behind a link, with the account whose rights it uses. */
interface Entered {
  readonly share: StoredShare
  readonly session: SessionRow
  readonly principal: SharePrincipal
  readonly mask: Mask
}

/** Opens the link of a visitor. */
const makeEnter = Effect.gen(function* () {
  const journal = yield* Journal
  const sessions = yield* SessionStore
  const store = yield* shareStore
  const throttle = yield* Throttle.make
  const maskOf = yield* secretMask

  const refuseThrottled = Effect.fnUntraced(function* (client: string, own: number) {
    const seconds = yield* throttle.retryAfterSeconds({ ...wrongLinks, max: wrongLinks.max + own }, client)
    if (seconds === undefined) return
    return yield* Throttle.rateLimited(
      "share",
      wrongLinks,
      seconds,
      `Too many links that show nothing were tried from here. Wait ${seconds} seconds.`
    )
  })

  const open = Effect.fnUntraced(function* (token: Redacted.Redacted | undefined) {
    // A visitor without a token is looked up too, so that every refusal takes the same time.
    const share = yield* store.open(token ?? Redacted.make(""))
    if (share === undefined) return undefined
    const principal: SharePrincipal = {
      accountId: share.account_id,
      scopes: ["read"],
      workspaceId: share.workspace_id,
      via: { kind: "share", shareId: share.id, sessionId: share.session_id, keyId: share.api_key_id }
    }
    const session = yield* Effect.option(sessions.readable(principal, share.session_id))
    return session._tag === "None" ? undefined : { share, principal, session: session.value }
  })

  return Effect.fnUntraced(function* ({ clientAddress, token }: Visitor): Effect.fn.Return<Entered, LinkRefused> {
    const client = clientNetwork(clientAddress)
    yield* refuseThrottled(client, 0)
    const opened = yield* open(token)
    if (opened === undefined) {
      yield* journal.commit(throttle.hit(wrongLinks, client))
      yield* refuseThrottled(client, 1)
      return yield* badLink
    }
    return { ...opened, mask: yield* maskOf(opened.session) }
  })
})

/** Completes once a session has events after a watermark. Looks at the link again now and then. */
const makeAwaitChange = Effect.gen(function* () {
  const bell = yield* Bell
  const listen = (sessionId: string) =>
    Effect.sync(() => {
      const rung = Effect.unsafeMakeLatch(true)
      return { rung, stop: bell.listen(sessionTopic(sessionId), () => rung.unsafeOpen()) }
    })

  return (sessionId: string, after: number, look: Effect.Effect<Entered, LinkRefused>) =>
    Effect.acquireUseRelease(
      listen(sessionId),
      ({ rung }) =>
        Effect.gen(function* () {
          // Closed before the read, so that a ring during it is not missed.
          yield* rung.close
          if ((yield* look).session.event_watermark > after) return true
          yield* Effect.timeoutOption(rung.await, pollMs)
          return false
        }).pipe(Effect.repeat({ until: (hasChanged) => hasChanged }), Effect.asVoid),
      ({ stop }) => Effect.sync(stop)
    )
})

const toSharedSession = (session: SessionRow, { expires_at, includes }: StoredShare): SharedSession => ({
  title: session.title,
  provider_id: session.provider_id,
  model: session.model,
  repository: session.tree.repository,
  ref: session.tree.base_ref,
  commit: session.tree.base_commit,
  lifecycle: session.lifecycle,
  activity: activityOf(session),
  includes,
  expires_at,
  event_watermark: session.event_watermark,
  created_at: session.created_at,
  updated_at: session.updated_at
})
