import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Clock, Context, Duration, Effect, Fiber, Layer, Redacted, Schedule, type Scope } from "effect"
import { boundIssuer, type GrantAnswer, type GrantedToken, GrantRefused, type TokenPlace } from "../grants/Grant.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import { ConnectionStore, type Unopenable } from "./ConnectionStore.js"
import { credentialLease } from "./CredentialLease.js"
import type { OpenConnection } from "./OpenConnection.js"
import type { TokenGrant } from "./TokenGrant.js"

/** An access token of a connection, and the way to another one. */
export interface Bearer {
  readonly token: Redacted.Redacted
  /** True for a token that was made for this caller. A service that refuses it refuses the next one too. */
  readonly isNew: boolean
  /** The connection that it is of, with its secrets. */
  readonly connection: OpenConnection
  /** Makes a token in the place of one that a service has refused, unless another caller has done so. */
  readonly renew: (refused: Redacted.Redacted) => Effect.Effect<Redacted.Redacted, GrantRefused>
}

/**
 * Has authorization servers make access tokens from the credentials of connections. A token is held in the memory of this process alone. One process
 * at a time uses a refresh token. The one that takes its place is sealed before the access token is used.
 */
export class AccessTokens extends Context.Tag("@reins/core/connections/AccessTokens")<
  AccessTokens,
  {
    /**
     * A token of an active connection that passes a check. Fails with `GrantRefused` where the authorization server gives none. A credential that it
     * has refused is not sent again until `fresh` has tried it.
     */
    readonly of: (
      workspaceId: WorkspaceId,
      connectionId: string,
      check: (connection: OpenConnection) => Effect.Effect<void, GrantRefused>
    ) => Effect.Effect<Bearer, Unopenable | GrantRefused>
    /** A token that is made now. It dies for a kind of connection that has no grant. */
    readonly fresh: (connection: OpenConnection) => Effect.Effect<GrantedToken, GrantRefused>
  }
>() {
  static readonly layer = Layer.scoped(
    AccessTokens,
    Effect.gen(function* () {
      const kinds = yield* ConnectionKinds
      const store = yield* ConnectionStore
      const scope = yield* Effect.scope
      const { make, spend } = yield* makeToken
      const kept = new Map<string, Kept>()

      /** One fiber makes the token of a credential. It goes on when its callers go away, so that no refresh token is lost. */
      const minted = (
        connection: OpenConnection,
        grant: TokenGrant,
        isTrial: boolean
      ): Effect.Effect<GrantedToken, GrantRefused> =>
        Effect.suspend(() => {
          const entry = kept.get(connection.credentialId) ?? empty()
          kept.set(connection.credentialId, entry)
          // One that is no trial may fail without a request.
          if (entry.making !== undefined && isTrial && !entry.isTrial)
            return Effect.zipRight(Fiber.await(entry.making), minted(connection, grant, isTrial))
          if (entry.making !== undefined) return Fiber.join(entry.making)
          entry.isTrial = isTrial
          const making = Effect.gen(function* () {
            const beganMs = yield* Clock.currentTimeMillis
            const found = yield* make(connection, grant, isTrial)
            entry.token = found.token
            entry.goodUntilMs = beganMs + found.lifeMs - Math.min(marginMs, found.lifeMs / 2)
            forgetEnded(kept, yield* Clock.currentTimeMillis)
            return found
          })
          return forkKept(scope, entry, making)
        })

      const current = Effect.fnUntraced(function* (connection: OpenConnection, refused?: Redacted.Redacted) {
        const grant = kinds.find(connection.kind)?.grant
        if (grant === undefined) return yield* noGrant
        const { goodUntilMs, token } = kept.get(connection.credentialId) ?? empty()
        const isRefused = token !== undefined && refused !== undefined && isSame(token, refused)
        if (isRefused && grant.held?.(connection, yield* Clock.currentTimeMillis) !== undefined)
          return yield* spend(connection)
        if (token !== undefined && !isRefused && (yield* Clock.currentTimeMillis) < goodUntilMs)
          return { token, isNew: false }
        const { token: made } = yield* minted(connection, grant, false)
        // A token that the credential itself is was not made for this caller.
        return { token: made, isNew: grant.held?.(connection, yield* Clock.currentTimeMillis) === undefined }
      })

      return AccessTokens.of({
        of: fn("AccessTokens.of")(function* (workspaceId, connectionId, check) {
          const connection = yield* store.open(workspaceId, connectionId)
          yield* check(connection)
          const found = yield* current(connection)
          const renew = (refused: Redacted.Redacted) => Effect.map(current(connection, refused), ({ token }) => token)
          return { ...found, connection, renew }
        }),
        fresh: fn("AccessTokens.fresh")((connection) => {
          const grant = kinds.find(connection.kind)?.grant
          return grant === undefined ? Effect.dieMessage("the kind has no grant") : minted(connection, grant, true)
        })
      })
    })
  )
}

interface Kept {
  token: Redacted.Redacted | undefined
  /** In milliseconds since 1970, by the clock of this process. */
  goodUntilMs: number
  making: Fiber.RuntimeFiber<GrantedToken, GrantRefused> | undefined
  isTrial: boolean
}

const empty = (): Kept => ({ token: undefined, goodUntilMs: 0, making: undefined, isTrial: false })

/** The time before its end at which a token is made anew, in milliseconds. Of a short life it is the half. */
const marginMs = 60_000

/** The longest wait for those who use the same refresh token, and for the authorization server, in milliseconds. */
const patience = Duration.seconds(90)

const forkKept = (scope: Scope.Scope, entry: Kept, making: Effect.Effect<GrantedToken, GrantRefused>) =>
  Effect.flatMap(Effect.forkIn(Effect.interruptible(making), scope), (fiber) => {
    entry.making = fiber
    fiber.addObserver(() => {
      entry.making = undefined
    })
    return Fiber.join(fiber)
  })

/** Holds no token longer than it is good, also of connections that nobody uses any more. */
const forgetEnded = (kept: Map<string, Kept>, nowMs: number): void => {
  for (const [key, { goodUntilMs, making }] of kept) if (making === undefined && goodUntilMs <= nowMs) kept.delete(key)
}

const isSame = (one: Redacted.Redacted, other: Redacted.Redacted): boolean =>
  Redacted.value(one) === Redacted.value(other)

const noGrant = new GrantRefused({
  reason: "unexpected_answer",
  message: "The connection is of a kind that gives no tokens."
})

const isReplaced = new GrantRefused({
  reason: "credential_unreadable",
  message: "The credential of the connection was replaced or revoked meanwhile. Try again."
})

const isRefusedHeld = new GrantRefused({
  reason: "credential_refused",
  message: "The server refuses the token of its connection. Log in again, or give the connection a new credential."
})

const isSpent = new GrantRefused({
  reason: "credential_refused",
  message:
    "The authorization server has refused the credential, so it is not sent again. Give the connection a new credential, or validate the connection to try this one."
})

/** Makes one token, and keeps what its answer has replaced. */
const makeToken = Effect.gen(function* () {
  const outbound = yield* Outbound
  const store = yield* ConnectionStore
  const lease = yield* credentialLease

  /** A database that is away for a moment loses no refresh token. */
  const settle = (used: Parameters<typeof lease.settle>[0]) =>
    Effect.retry(Effect.sandbox(lease.settle(used)), { times: 20, schedule: Schedule.spaced("500 millis") }).pipe(
      Effect.unsandbox
    )

  const untried = Effect.fnUntraced(function* ({ id }: OpenConnection) {
    const row = yield* store.find(id)
    return row?.health === "reauth_required" ? yield* isSpent : undefined
  })

  const asked = Effect.fnUntraced(function* (
    connection: OpenConnection,
    grant: TokenGrant,
    place: TokenPlace,
    holder: string | undefined
  ) {
    const { found, replaced } = yield* grant.ask(place, connection, outbound)
    yield* failpoint("grant.answered")
    yield* settle({
      connection,
      holder,
      replaced: { ...replaced, ...bindingOf(place.issuer, connection, found) },
      health: healthOf(found)
    })
    yield* failpoint("grant.kept")
    return found instanceof GrantRefused ? yield* found : found
  })

  /** Another process may have used the refresh token that this one has read, and stored the next or a refusal. */
  const newest = Effect.fnUntraced(function* ({ credentialId, id }: OpenConnection, isTrial: boolean) {
    const found = yield* Effect.option(store.openVersion(id, credentialId))
    if (found._tag === "None") return yield* isReplaced
    if (!isTrial) yield* untried(found.value)
    return found.value
  })

  const refreshed = (connection: OpenConnection, grant: TokenGrant, place: TokenPlace, isTrial: boolean) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const holder = yield* restore(lease.take(connection.credentialId))
        if (holder === undefined) return yield* isReplaced
        const used = yield* Effect.tapError(newest(connection, isTrial), () =>
          lease.free(connection.credentialId, holder)
        )
        return yield* asked(used, grant, place, holder)
      })
    )

  const nothingReplaced = { holder: undefined, replaced: {} }

  /** Notes that a service has refused the token that a credential is. */
  const spend = (connection: OpenConnection) =>
    Effect.zipRight(settle({ connection, ...nothingReplaced, health: "reauth_required" }), isRefusedHeld)

  const make = Effect.fnUntraced(function* (connection: OpenConnection, grant: TokenGrant, isTrial: boolean) {
    if (!isTrial) yield* untried(connection)
    const held = grant.held?.(connection, yield* Clock.currentTimeMillis)
    if (held instanceof GrantRefused)
      return yield* Effect.zipRight(settle({ connection, ...nothingReplaced, health: "reauth_required" }), held)
    if (held !== undefined) return held
    const place = yield* grant.find(connection, outbound)
    if (connection.secrets["refresh_token"] === undefined) return yield* asked(connection, grant, place, undefined)
    return yield* Effect.timeoutFail(refreshed(connection, grant, place, isTrial), {
      duration: patience,
      onTimeout: () =>
        new GrantRefused({ reason: "timeout", message: "Other servers use the refresh token. Try again." })
    })
  })

  return { make, spend }
})

/** The authorization server that has taken the credential for the first time. */
const bindingOf = (
  issuer: string | undefined,
  { secrets }: OpenConnection,
  found: GrantAnswer["found"]
): OpenConnection["secrets"] =>
  issuer === undefined || secrets[boundIssuer] !== undefined || found instanceof GrantRefused
    ? {}
    : { [boundIssuer]: Redacted.make(issuer) }

const healthOf = (found: GrantAnswer["found"]) => {
  if (!(found instanceof GrantRefused)) return "ready" as const
  return found.reason === "credential_refused" ? ("reauth_required" as const) : undefined
}
