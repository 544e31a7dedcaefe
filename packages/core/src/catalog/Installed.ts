import type { InstalledList } from "@reins/base/domain/Installed"
import { Executors } from "@reins/machine/executor/Executors"
import { Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Context, Effect, Layer, type Schema } from "effect"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"

/** The names of an installation, for the lists that the contract leaves open. */
export interface InstalledNames {
  readonly lists: Readonly<Record<InstalledList, ReadonlyArray<string>>>
  /** The names that a request without one means. */
  readonly defaults: { readonly providers: string }
  /** The fields of the credential of each kind of connection, as far as its kind gives their schema. */
  readonly credentials: Readonly<Record<string, Schema.Schema.AnyNoContext | undefined>>
}

/** The names that this installation has. Another installation may have others. */
export class Installed extends Context.Tag("@reins/core/catalog/Installed")<Installed, InstalledNames>() {
  /** `webhookTypes` are the words that a webhook may ask for. */
  static readonly layerOf = (webhookTypes: ReadonlyArray<string>) =>
    Layer.effect(
      Installed,
      Effect.gen(function* () {
        const executors = yield* Executors
        const { defaultId } = yield* Manifests
        const kinds = yield* ConnectionKinds
        return Installed.of({
          credentials: Object.fromEntries(kinds.list.map(({ credential, kind }) => [kind, credential.schema])),
          lists: {
            connection_kinds: kinds.list.map(({ kind }) => kind),
            forges: (yield* Forges).list.map(({ kind }) => kind),
            executors: executors.names,
            webhook_types: webhookTypes
          },
          defaults: { providers: defaultId }
        })
      })
    )
}
