import { Context, Effect, Layer, type Redacted } from "effect"
import { Outbound } from "../outbound/Outbound.js"
import { type Forge, ForgeError, type ForgeHooks, type ForgeKind } from "./Forge.js"
import { type ForgeHost, forgeHost, isHome, mayReceive, repositoryOn } from "./ForgeHost.js"
import type { ForgeAccess } from "./ForgeRequest.js"
import { gitea } from "./Gitea.js"
import { gitHub } from "./GitHub.js"
import { gitLab } from "./GitLab.js"

/** The forges that are part of Reins. A new forge has a file of its own and its name in this list. */
export const builtInForges: ReadonlyArray<ForgeKind> = [gitHub, gitLab, gitea]

/** The parts of a connection that tell where its forge is. */
export interface ForgeConnection {
  /** The kind of the connection: the kind of its forge, or that of an app of the forge. */
  readonly kind: string
  /** `base_url` is the address of the forge. The default is the usual one. */
  readonly settings: Readonly<Record<string, string>>
}

/** An opened connection to a forge. */
export interface ForgeCredential extends ForgeConnection {
  /** `token` is the token for the forge. */
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  /** Gives a token in place of one that the forge no longer takes. Absent for a token that people have made. */
  readonly renew?: (refused: Redacted.Redacted) => Effect.Effect<Redacted.Redacted, ForgeError>
  /** The name of the account on the forge, where the token does not tell it. */
  readonly login?: Effect.Effect<string | undefined, ForgeError>
}

/** The forges that connections of this installation lead to. A token is sent only to the host of its own connection. */
export class Forges extends Context.Tag("@reins/core/forge/Forges")<
  Forges,
  {
    /** The kinds of forge of this installation, in a fixed order. */
    readonly list: ReadonlyArray<ForgeKind>
    /** The forge for a kind of connection; undefined when the kind leads to none. */
    readonly find: (kind: string) => ForgeKind | undefined
    /**
     * The forge at an origin: by its public address, else by what the host tells anybody about its API. Undefined when it is none of these. Asks an
     * https or http origin alone.
     */
    readonly at: (origin: string) => Effect.Effect<ForgeKind | undefined>
    /** The path of a repository on the forge of a connection, as in `owner/name`; undefined when it is not on that forge. */
    readonly pathOf: (connection: ForgeConnection, repositoryUrl: string) => string | undefined
    /**
     * True when git may send the credential of a connection to a repository. The token of a forge goes only to the forge's own host. The
     * credential of a connection of another kind goes to its setting `origin`, and nowhere without one.
     */
    readonly mayReceive: (connection: ForgeConnection, repositoryUrl: string) => boolean
    /**
     * The repository on the forge of a connection. Fails with `unauthenticated` when the connection is not one to a forge, and with
     * `rejected` when the repository is not on that forge.
     */
    readonly open: (credential: ForgeCredential, repositoryUrl: string) => Effect.Effect<Forge, ForgeError>
    /** The hooks of the repository. Fails as `open` does, and with `rejected` for a forge whose hooks people make by hand. */
    readonly openHooks: (credential: ForgeCredential, repositoryUrl: string) => Effect.Effect<ForgeHooks, ForgeError>
    /** The name of the account that a token belongs to; undefined where the forge does not tell. */
    readonly loginOf: (credential: ForgeCredential) => Effect.Effect<string | undefined>
  }
>() {
  /** Only the given forges. */
  static readonly layerOf = (forges: ReadonlyArray<ForgeKind>) =>
    Layer.effect(
      Forges,
      Effect.map(Outbound, (outbound) => {
        const find = (kind: string) => forges.find((forge) => forge.kind === kind || forge.appKind === kind)
        const hostOf = ({ kind, settings }: ForgeConnection) => {
          const forge = find(kind)
          return forge === undefined ? undefined : forgeHost(forge, settings["base_url"])
        }
        const placeOf = Effect.fnUntraced(function* (credential: ForgeCredential, repositoryUrl: string) {
          const host = hostOf(credential)
          const token = credential.secrets["token"]
          if (host === undefined || token === undefined) return yield* notAForge
          const repository = repositoryOn(host, repositoryUrl)
          if (repository === undefined) return yield* notThere(host.web)
          const ask = yield* asking(outbound, host, token, credential.renew)
          return { ask, forge: host.forge, repository }
        })
        return Forges.of({
          list: forges,
          find,
          at: (origin) => {
            const known = forges.find(({ defaultUrl }) => new URL(defaultUrl).host === new URL(origin).host)
            if (known !== undefined || !/^https?:/.test(origin)) return Effect.succeed(known)
            return Effect.flatMap(
              Effect.promise(() => import("./ForgeGuess.js")),
              ({ guessForge }) => guessForge(outbound, forges, origin)
            )
          },
          pathOf: (connection, repositoryUrl) => {
            const host = hostOf(connection)
            return host === undefined ? undefined : repositoryOn(host, repositoryUrl)
          },
          mayReceive: (connection, repositoryUrl) => {
            const host = hostOf(connection)
            return host === undefined
              ? isHome(connection.settings["origin"], repositoryUrl)
              : mayReceive(host, repositoryUrl)
          },
          open: (credential, repositoryUrl) =>
            Effect.map(placeOf(credential, repositoryUrl), ({ ask, forge, repository }) => forge.open(ask, repository)),
          openHooks: Effect.fnUntraced(function* (credential, repositoryUrl) {
            const { ask, forge, repository } = yield* placeOf(credential, repositoryUrl)
            if (forge.appKind === credential.kind) return yield* hookOfApp
            return forge.openHooks === undefined ? yield* byHand : forge.openHooks(ask, repository)
          }),
          loginOf: Effect.fnUntraced(
            function* (credential) {
              if (credential.login !== undefined) return yield* credential.login
              const host = hostOf(credential)
              const token = credential.secrets["token"]
              if (host === undefined || token === undefined) return undefined
              const { forge } = host
              const ask = yield* asking(outbound, host, token)
              const user = yield* ask({ method: "GET", path: forge.userPath })
              const login = user !== null && typeof user === "object" ? Reflect.get(user, forge.loginField) : undefined
              return typeof login === "string" ? login : undefined
            },
            // A project's or group's token may not read its user.
            Effect.catchAll(() => Effect.succeed(undefined))
          )
        })
      })
    )

  /** The forges that are part of Reins. */
  static readonly layer = Forges.layerOf(builtInForges)
}

/** Gives the means to ask a forge with a token, and loads it with the first use. */
const asking = Effect.fnUntraced(function* (
  outbound: Outbound["Type"],
  { api, forge: { headers, refusals: load } }: ForgeHost,
  token: Redacted.Redacted,
  renew?: ForgeAccess["renew"]
) {
  const { askForge } = yield* Effect.promise(() => import("./ForgeRequest.js"))
  const refusals = load && (yield* Effect.promise(load))
  return askForge({ outbound, api, token, headers, ...(refusals && { refusals }), ...(renew && { renew }) })
})

const notAForge = new ForgeError({
  kind: "unauthenticated",
  message: "The connection leads to no forge: use a connection of a forge's kind."
})

const byHand = new ForgeError({
  kind: "rejected",
  message: "Reins makes no hooks on this kind of forge: make the hook in the settings of the repository."
})

const hookOfApp = new ForgeError({
  kind: "rejected",
  message:
    "An app has one webhook for all of its repositories: put the address and the secret of the hook in the settings of the app."
})

const notThere = (web: URL): ForgeError =>
  new ForgeError({
    kind: "rejected",
    message: `The repository is not on ${web.host}, where the connection leads: use a connection to its forge.`
  })
