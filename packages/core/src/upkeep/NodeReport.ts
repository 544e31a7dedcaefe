import { Effect, Layer, Option } from "effect"
import { HarnessInstall } from "../harness/Install.js"
import { Manifests } from "../harness/Manifests.js"
import { Nodes } from "../placement/Nodes.js"

/** Tells the other nodes which agents are installed on this one. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { tell } = yield* Nodes
    const { list } = yield* Manifests
    const install = yield* HarnessInstall
    const isInstalled = (providerId: string) =>
      Effect.map(Effect.orElseSucceed(install.find(providerId), Option.none), Option.isSome)
    const ids = list.map((manifest) => manifest.provider_id)
    yield* tell({ providers: Effect.filter(ids, isInstalled, { concurrency: "unbounded" }) })
  })
)
