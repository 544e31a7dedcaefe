import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Forges } from "@reins/machine/forge/Forges"
import type { Manifest } from "@reins/machine/harness/Manifest"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Context, Data, Effect, Layer, ParseResult, Schema } from "effect"
import type { ConnectionKind } from "./ConnectionKind.js"
import { alphaGateway } from "./kinds/AlphaGateway.js"
import { beta } from "./kinds/Beta.js"
import { forgeToken } from "./kinds/ForgeToken.js"
import { gateway } from "./kinds/Gateway.js"
import { gitHubApp } from "./kinds/GitHubApp.js"
import { mcpOauth } from "./kinds/McpOauth.js"
import { plainGit, sshGit } from "./kinds/PlainGit.js"

/** The kinds for providers that are part of Reins. A new kind has a file of its own and its name in this list. */
export const builtInGateways = [alphaGateway, beta, gateway] as const

/** A manifest names a kind of connection that this installation does not have. */
export class ConnectionKindMissing extends Data.TaggedError("ConnectionKindMissing")<{
  /** The provider of the manifest. */
  readonly providerId: string
  /** The kind that it names. */
  readonly kind: string
  /** The place of the manifest, as `ManifestOrigin.source` names it. */
  readonly source: string
}> {
  override get message() {
    return `The manifest of ${this.providerId} (${this.source}) names connections of the kind ${this.kind}, which this installation does not have.`
  }
}

/** The kinds of connection of this installation. */
export class ConnectionKinds extends Context.Tag("@reins/core/connections/ConnectionKinds")<
  ConnectionKinds,
  {
    /** All kinds in a fixed order: those of providers, those of forges, those of their apps, `git`, `git_ssh` and `mcp_oauth`. */
    readonly list: ReadonlyArray<ConnectionKind>
    /** The names of the kinds that git may use. */
    readonly forGit: ReadonlyArray<string>
    /** The kind of that name; undefined when this installation does not have it. A stored connection may be of a kind that was removed. */
    readonly find: (kind: string) => ConnectionKind | undefined
    /** The kind that a request names. Fails with the error of the field `kind` when this installation does not have it. */
    readonly require: (kind: string) => Effect.Effect<ConnectionKind, RequestInvalid>
    /** The first provider that runs with connections of the kind; undefined when no provider does. */
    readonly providerOf: (kind: string) => Manifest | undefined
  }
>() {
  /** The given kinds for providers, the kinds of each forge, those of plain git, and OAuth with servers of tools. Fails with `ConnectionKindMissing`. */
  static readonly layerOf = (gateways: ReadonlyArray<ConnectionKind>) =>
    Layer.effect(
      ConnectionKinds,
      Effect.gen(function* () {
        const manifests = yield* Manifests
        const forges = yield* Forges
        // Forges that were made from one another have an app of one kind.
        const withApps = new Map(forges.list.map((forge) => [forge.appKind, forge] as const).reverse())
        const apps = [...withApps].flatMap(([kind, forge]) => (kind === undefined ? [] : [gitHubApp(forge, kind)]))
        const list = [...gateways, ...forges.list.map(forgeToken), ...apps, plainGit, sshGit, mcpOauth]
        const find = (kind: string) => list.find((each) => each.kind === kind)
        for (const { credential, provider_id: providerId } of manifests.list) {
          if (credential !== null && find(credential.connection_kind) === undefined)
            return yield* new ConnectionKindMissing({
              providerId,
              kind: credential.connection_kind,
              source: (yield* Effect.orDie(manifests.originOf(providerId))).source
            })
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
