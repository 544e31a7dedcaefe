import type { ForgeError } from "@reins/machine/forge/Forge"
import type { ForgeHost } from "@reins/machine/forge/ForgeHost"
import type { Outbound } from "@reins/machine/outbound/Outbound"
import type { Effect, Redacted } from "effect"
import type { OpenConnection } from "./OpenConnection.js"

/** The purpose of a token: one repository, and the API or git. */
export interface TokenWanted {
  /** The path of the repository on the forge, as in `owner/name`. */
  readonly repository: string
  /** Calls of the API, or git over HTTP. */
  readonly use: "api" | "git"
}

/** The means to make a token. */
export interface MintMeans {
  /** The guarded way out of the service. */
  readonly outbound: Outbound["Type"]
  /** The forge of the connection. */
  readonly host: ForgeHost
}

/** A token that a forge has made. */
export interface MintedToken {
  /** The secret that the forge takes. */
  readonly token: Redacted.Redacted
  /** The time at which the forge no longer takes it, by the clock of the forge, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** The part of a kind of connection that makes tokens from the key of a connection. */
export interface TokenMaker {
  /** Makes a token for one repository. Fails when the key, the installation or a permission does not let it. */
  readonly mint: (
    connection: OpenConnection,
    wanted: TokenWanted,
    means: MintMeans
  ) => Effect.Effect<MintedToken, ForgeError>
  /** The name of the account that such tokens act as; undefined where the forge does not tell. */
  readonly login: (connection: OpenConnection, means: MintMeans) => Effect.Effect<string | undefined, ForgeError>
}
