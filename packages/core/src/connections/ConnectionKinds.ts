import { Context, Data, Effect, Layer, ParseResult, Schema } from "effect"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { Forges } from "../forge/Forges.js"
import type { Manifest } from "../harness/Manifest.js"
import { Manifests } from "../harness/Manifests.js"
import type { ConnectionKind } from "./ConnectionKind.js"
import { alphaGateway } from "./kinds/AlphaGateway.js"
import { beta } from "./kinds/Beta.js"
import { forgeToken } from "./kinds/ForgeToken.js"
import { plainGit } from "./kinds/PlainGit.js"

/** The kinds for providers that are part of Reins. A new one is a file of its own and its name in this list. */
export const builtInGateways: ReadonlyArray<ConnectionKind> = [alphaGateway, beta]

/** A manifest names a kind of connection that this installation does not have. */
export class ConnectionKindMissing extends Data.TaggedError("ConnectionKindMissing")<{
  readonly providerId: string
  readonly kind: string
}> {
  override get message() {
    return `The manifest of ${this.providerId} names connections of the kind ${this.kind}, which this installation does not have.`
  }
}

/** The kinds of connection of this installation. */
export class ConnectionKinds extends Context.Tag("@reins/core/connections/ConnectionKinds")<
  ConnectionKinds,
  {
    /** All of them, in a fixed order: those of providers, those of forges, and `git`. */
    readonly list: ReadonlyArray<ConnectionKind>
    /** The names of those that git may use. */
    readonly forGit: ReadonlyArray<string>
    /** Undefined for a kind that this installation does not have, or has no more. */
    readonly find: (kind: string) => ConnectionKind | undefined
    /** The same for a request to make one: fails with the error of its field `kind`. */
    readonly require: (kind: string) => Effect.Effect<ConnectionKind, RequestInvalid>
    /** The first provider that runs with connections of a kind; undefined for kinds that no provider runs with. */
    readonly providerOf: (kind: string) => Manifest | undefined
  }
>() {
  /** The given kinds for providers, one for each forge, and `git`. Fails with `ConnectionKindMissing`. */
  static readonly layerOf = (gateways: ReadonlyArray<ConnectionKind>) =>
    Layer.effect(
      ConnectionKinds,
      Effect.gen(function* () {
        const manifests = yield* Manifests
        const forges = yield* Forges
        const list = [...gateways, ...forges.list.map(forgeToken), plainGit]
        const find = (kind: string) => list.find((each) => each.kind === kind)
        for (const { credential, provider_id: providerId } of manifests.list) {
          if (credential !== null && find(credential.connection_kind) === undefined)
            return yield* new ConnectionKindMissing({ providerId, kind: credential.connection_kind })
        }
        const known = Schema.Literal(...list.map(({ kind }) => kind))
        return ConnectionKinds.of({
          list,
          forGit: list.filter(({ forGit }) => forGit).map(({ kind }) => kind),
          find,
          require: (kind) =>
            Effect.fromNullable(find(kind)).pipe(
              Effect.mapError(
                () =>
                  new RequestInvalid({
                    loc: ["body", "kind"],
                    issue: new ParseResult.Type(known.ast, kind),
                    input: kind
                  })
              )
            ),
          providerOf: (kind) => manifests.list.find(({ credential }) => credential?.connection_kind === kind)
        })
      })
    )

  /** The kinds that are part of Reins. */
  static readonly layer = ConnectionKinds.layerOf(builtInGateways)
}
