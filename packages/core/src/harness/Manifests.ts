import { Context, Data, Effect, Layer, Schema } from "effect"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }
import beta from "../../../../manifests/beta.json" with { type: "json" }
import delta from "../../../../manifests/delta.json" with { type: "json" }
import epsilon from "../../../../manifests/epsilon.json" with { type: "json" }
import gamma from "../../../../manifests/gamma.json" with { type: "json" }
import zeta from "../../../../manifests/zeta.json" with { type: "json" }
import { fn } from "../base/Traced.js"
import { Manifest } from "./Manifest.js"

/** No manifest declares this provider. */
export class HarnessNotFound extends Data.TaggedError("HarnessNotFound")<{
  /** The id that the caller gave. */
  readonly providerId: string
}> {}

const decode = Schema.decodeUnknown(Manifest, { onExcessProperty: "error" })

/** The providers that this service knows. */
export class Manifests extends Context.Tag("@reins/core/harness/Manifests")<
  Manifests,
  {
    /** All of them, disabled ones too, in a fixed order. */
    readonly list: ReadonlyArray<Manifest>
    /** The provider of a session that names none. It is the first one that can be chosen. */
    readonly defaultId: string
    /** The manifest of a provider, also of a disabled one. Fails with `HarnessNotFound` for an id that no manifest declares. */
    readonly get: (providerId: string) => Effect.Effect<Manifest, HarnessNotFound>
  }
>() {
  /** Only the given manifests. A manifest that cannot be decoded fails the layer, so that a broken one stops the start. */
  static readonly layerOf = (sources: ReadonlyArray<unknown>) =>
    Layer.effect(
      Manifests,
      Effect.gen(function* () {
        const list = yield* Effect.forEach(sources, (source) => decode(source))
        return Manifests.of({
          list,
          defaultId: (list.find(({ tier }) => tier !== "disabled") ?? list[0])?.provider_id ?? "",
          get: fn("Manifests.get")(function* (providerId) {
            const manifest = list.find((candidate) => candidate.provider_id === providerId)
            return manifest ?? (yield* new HarnessNotFound({ providerId }))
          })
        })
      })
    )

  /** The manifests that are part of Reins. */
  static readonly layer = Manifests.layerOf([alpha, beta, gamma, delta, epsilon, zeta])
}
