import { assert, it } from "@effect/vitest"
import { ConnectionKindMissing, ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { Forges } from "@reins/core/forge/Forges"
import { Manifests } from "@reins/core/harness/Manifests"
import { Outbound } from "@reins/core/outbound/Outbound"
import { connectionKindSuite } from "@reins/testing/connections/ConnectionKindSuite"
import { json } from "@reins/testing/connections/LocalServer"
import { Effect, Layer } from "effect"

const around = Layer.merge(Manifests.layer, Forges.layer).pipe(
  Layer.provide(Outbound.layerWith({ allowPrivateHosts: [] }))
)
const { list } = await Effect.runPromise(
  ConnectionKinds.pipe(Effect.provide(ConnectionKinds.layer), Effect.provide(around))
)

const gateway = { data: [{ id: "one" }] }

for (const kind of list) {
  connectionKindSuite(
    kind.kind === "git"
      ? { kind, credential: (_, password) => ({ username: "ada", password }) }
      : kind.gateway !== null
        ? {
            kind,
            credential: (base_url, api_key) => ({ base_url, api_key }),
            answer: (response) => json(response, 200, gateway)
          }
        : {
            kind,
            credential: (base_url, token) => ({ base_url, token }),
            answer: (response) => json(response, 200, { login: "somebody" })
          }
  )
}

it.effect("a manifest that names a kind of connection that is not there stops the start", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(
      Effect.provide(ConnectionKinds, Layer.provide(ConnectionKinds.layerOf([]), around))
    )
    assert.instanceOf(error, ConnectionKindMissing)
    assert.include(error.message, "alpha_gateway")
  })
)
