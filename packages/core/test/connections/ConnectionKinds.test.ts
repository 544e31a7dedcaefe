import { assert, it } from "@effect/vitest"
import { ConnectionKindMissing, ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { Forges } from "@reins/core/forge/Forges"
import { Manifests } from "@reins/core/harness/Manifests"
import { Outbound } from "@reins/core/outbound/Outbound"
import { connectionKindSuite } from "@reins/testing/connections/ConnectionKindSuite"
import { json } from "@reins/testing/connections/LocalServer"
import { Effect, Layer, ParseResult } from "effect"

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
            credential: (base_url, api_key) => ({
              base_url,
              api_key,
              ...(kind.kind === "gateway" && { protocol: "openai_chat" })
            }),
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

it.effect("beta refuses the login of a subscription, and says what to give in its place", () =>
  Effect.gen(function* () {
    const beta = list.find(({ kind }) => kind === "beta")
    const given = { api_key: "sk-canary-0", auth_json: '{"tokens":{}}' }
    const issue = yield* Effect.flip(beta?.credential(given) ?? Effect.dieMessage("there is no beta"))
    const [fault] = ParseResult.ArrayFormatter.formatIssueSync(issue)
    assert.deepStrictEqual(fault?.path, ["auth_json"])
    assert.include(fault?.message, "Give an api_key")
  })
)
