import { fn } from "@reins/base/base/Traced"
import { ForgeError } from "@reins/machine/forge/Forge"
import { type ForgeHost, forgeHost, repositoryOn } from "@reins/machine/forge/ForgeHost"
import { type ForgeCredential, Forges } from "@reins/machine/forge/Forges"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { ConnectionKinds } from "./ConnectionKinds.js"
import type { OpenConnection } from "./OpenConnection.js"
import type { MintedToken } from "./TokenMaker.js"

/** A connection that the forge takes: its secret `token` is good for the repository. */
export type TokenedConnection = OpenConnection & Pick<ForgeCredential, "login" | "renew">

/**
 * Makes the tokens of connections whose credential is a key, for one repository each. A token is held in the memory of this process alone. Both
 * functions give a connection of another kind back as it is.
 */
export class TokenMint extends Context.Tag("@reins/core/connections/TokenMint")<
  TokenMint,
  {
    /** The connection for calls of the API. Its token is kept until 10 minutes before its end, because marks of answers are good for one token. */
    readonly forApi: (connection: OpenConnection, repositoryUrl: string) => Effect.Effect<TokenedConnection, ForgeError>
    /** The connection for git, with a token that is made anew and is good for an hour. */
    readonly forGit: (connection: OpenConnection, repositoryUrl: string) => Effect.Effect<OpenConnection, ForgeError>
  }
>() {
  static readonly layer = Layer.effect(
    TokenMint,
    Effect.gen(function* () {
      const kinds = yield* ConnectionKinds
      const forges = yield* Forges
      const outbound = yield* Outbound
      const kept = new Map<string, Kept>()

      const placeOf = (connection: OpenConnection, repositoryUrl: string) => {
        const maker = kinds.find(connection.kind)?.tokens
        const forge = forges.find(connection.kind)
        if (maker === undefined || forge === undefined) return undefined
        const host = forgeHost(forge, connection.settings["base_url"])
        const repository = repositoryOn(host, repositoryUrl)
        return { maker, means: { host, outbound }, repository }
      }

      /** The kept token of a key. One caller makes it, and others wait for it. */
      const tokenOf = (
        key: string,
        refused: Redacted.Redacted | undefined,
        mint: Effect.Effect<MintedToken, ForgeError>
      ) =>
        Effect.suspend(() => {
          const entry = kept.get(key) ?? { turns: Effect.unsafeMakeSemaphore(1), token: undefined, goodUntil: 0 }
          kept.set(key, entry)
          return entry.turns.withPermits(1)(
            Effect.gen(function* () {
              const nowMs = yield* Clock.currentTimeMillis
              const isRefused = refused !== undefined && entry.token !== undefined && isSame(entry.token, refused)
              if (entry.token !== undefined && nowMs < entry.goodUntil && !isRefused) return entry.token
              const { expiresAt, token } = yield* mint
              forgetEnded(kept, nowMs)
              entry.token = token
              entry.goodUntil = nowMs + lifeMs(expiresAt - nowMs) - marginMs
              kept.set(key, entry)
              return token
            })
          )
        })

      return TokenMint.of({
        forApi: fn("TokenMint.forApi")(function* (connection, repositoryUrl) {
          const place = placeOf(connection, repositoryUrl)
          if (place === undefined) return connection
          const { maker, means, repository } = place
          if (repository === undefined) return yield* notThere(means.host)
          const key = JSON.stringify([connection.credentialId, repository, "api"])
          const mint = maker.mint(connection, { repository, use: "api" }, means)
          const token = yield* tokenOf(key, undefined, mint)
          return {
            ...connection,
            secrets: { token },
            renew: (refused) => tokenOf(key, refused, mint),
            login: maker.login(connection, means)
          }
        }),
        forGit: fn("TokenMint.forGit")(function* (connection, repositoryUrl) {
          const place = placeOf(connection, repositoryUrl)
          if (place === undefined) return connection
          const { maker, means, repository } = place
          if (repository === undefined) return yield* notThere(means.host)
          const { token } = yield* maker.mint(connection, { repository, use: "git" }, means)
          return { ...connection, secrets: { token } }
        })
      })
    })
  )
}

interface Kept {
  readonly turns: Effect.Semaphore
  token: Redacted.Redacted | undefined
  /** In milliseconds since 1970, by the clock of this process. */
  goodUntil: number
}

/** The time before its end at which a token is made anew, in milliseconds. */
const marginMs = 10 * 60_000

const hourMs = 60 * 60_000

/** The life of a token, which is an hour. A clock that is off makes it look longer, or ended. */
const lifeMs = (left: number): number => (left > marginMs && left < hourMs ? left : hourMs)

/** Holds no token longer than it is good, also of connections that nobody uses any more. */
const forgetEnded = (kept: Map<string, Kept>, nowMs: number): void => {
  for (const [key, { goodUntil, token }] of kept) if (token !== undefined && goodUntil <= nowMs) kept.delete(key)
}

const isSame = (one: Redacted.Redacted, other: Redacted.Redacted): boolean =>
  Redacted.value(one) === Redacted.value(other)

const notThere = ({ web }: ForgeHost): ForgeError =>
  new ForgeError({
    kind: "rejected",
    message: `The repository is not on ${web.host}, where the connection leads: use a connection to its forge.`
  })
