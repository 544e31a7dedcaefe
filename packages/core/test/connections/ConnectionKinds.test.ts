import { assert, it } from "@effect/vitest"
import { ConnectionKindMissing, ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { connectionKindSuite } from "@reins/testing/connections/ConnectionKindSuite"
import { json } from "@reins/testing/connections/LocalServer"
import { appKeys } from "@reins/testing/forge/ForgeApp"
import { Effect, Either, Layer, ParseResult } from "effect"

const around = Layer.merge(Manifests.layer, Forges.layer).pipe(
  Layer.provide(Outbound.layerWith({ allowPrivateHosts: [] }))
)
const { list } = await Effect.runPromise(Effect.provide(ConnectionKinds, Layer.provide(ConnectionKinds.layer, around)))

const gateway = { data: [{ id: "one" }] }

for (const kind of list) {
  connectionKindSuite(
    kind.kind === "git"
      ? { kind, credential: (_, password) => ({ origin: "https://git.example", username: "ada", password }) }
      : kind.kind === "git_ssh"
        ? {
            kind,
            credential: (_, private_key) => ({
              origin: "ssh://git.example:2222",
              known_hosts: "[git.example]:2222 ssh-ed25519 AAAA",
              private_key
            })
          }
        : kind.kind === "mcp_oauth"
          ? {
              kind,
              credential: (base_url, client_secret) => ({
                server_url: `${base_url}/mcp`,
                token_endpoint: `${base_url}/token`,
                client_id: "reins",
                client_secret
              }),
              answer: (response) =>
                json(response, 200, { access_token: "a-token", token_type: "Bearer", expires_in: 60 })
            }
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
            : kind.tokens !== undefined
              ? {
                  kind,
                  secret: appKeys().pkcs8,
                  credential: (base_url, private_key) => ({ base_url, client_id: "Iv23liCanary", private_key }),
                  answer: (response) => json(response, 200, { id: 12, slug: "reins-helper" })
                }
              : {
                  kind,
                  credential: (base_url, token) => ({ base_url, token }),
                  answer: (response) => json(response, 200, { login: "somebody" })
                }
  )
}

it.effect("a credential for git names a home, which is an origin and nothing else", () =>
  Effect.gen(function* () {
    const taken = (name: string, origin: unknown) => {
      const kind = list.find((each) => each.kind === name)
      const rest = name === "git" ? { username: "ada", password: "p" } : { known_hosts: "h k", private_key: "k" }
      return Effect.map(Effect.either(kind?.credential({ ...rest, origin }) ?? Effect.dieMessage(name)), Either.isRight)
    }
    for (const origin of ["https://git.example", "https://git.example/", "https://git.example:8443", "http://[::1]:80"])
      assert.isTrue(yield* taken("git", origin), origin)
    for (const origin of ["ssh://git.example", "ssh://git.example:2222"])
      assert.isTrue(yield* taken("git_ssh", origin), origin)
    for (const origin of [
      undefined,
      "",
      "git.example",
      "https://",
      "https://git.example/acme",
      "https://git.example?x",
      "https://git.example#x",
      "https://me@git.example",
      "https://me:word@git.example",
      "file:///srv",
      "ext::sh",
      "git://git.example"
    ]) {
      assert.isFalse(yield* taken("git", origin), origin)
      assert.isFalse(yield* taken("git_ssh", origin), origin)
    }
  })
)

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
