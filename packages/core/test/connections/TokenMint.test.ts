import { generateKeyPairSync } from "node:crypto"
import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import { ConnectionId, CredentialId, newId } from "@reins/base/domain/Ids"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import type { OpenConnection } from "@reins/core/connections/OpenConnection"
import { type TokenedConnection, TokenMint } from "@reins/core/connections/TokenMint"
import { builtInForges, Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { appKeys, ForgeApp } from "@reins/testing/forge/ForgeApp"
import { dialects } from "@reins/testing/forge/ForgeDialects"
import { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { Effect, Either, Layer, Redacted, TestClock } from "effect"

const repository = "acme/shop"

const mints = Layer.provideMerge(TokenMint.layer, ConnectionKinds.layer).pipe(
  Layer.provideMerge(Layer.merge(Forges.layerOf(builtInForges), Manifests.layer)),
  Layer.provideMerge(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] }))
)

/** A forge with an app that is installed on its repository, and a connection to the app. */
const installed = (more: Readonly<Record<string, string>> = {}, key = appKeys().pkcs1) =>
  Effect.gen(function* () {
    const heads = new Map([
      ["main", "a".repeat(40)],
      ["work", "c".repeat(40)]
    ])
    const server = new ForgeServer(dialects.github(repository), "no token", {
      headOf: (branch) => heads.get(branch),
      merge: () => {}
    })
    const app = new ForgeApp(repository)
    server.app = app
    const port = yield* onLoopback(() =>
      createServer((request, response) => {
        if (!server.handle(request, response)) response.writeHead(418).end()
      })
    )
    const base = `http://127.0.0.1:${port}`
    const connection: OpenConnection = {
      id: yield* newId(ConnectionId),
      credentialId: yield* newId(CredentialId),
      kind: "github_app",
      settings: { base_url: base, client_id: app.clientId, ...more },
      secrets: { private_key: Redacted.make(key) },
      preferredModel: null,
      prices: {}
    }
    const url = `${base}/${repository}.git`
    const mint = yield* TokenMint
    const forges = yield* Forges
    const list = (tokened: TokenedConnection) =>
      Effect.flatMap(forges.open(tokened, url), (forge) => forge.find({ head: "work", base: "main" }))
    const asked = () => server.seen.splice(0).map(({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`)
    return { app, asked, base, connection, forges, list, mint, server, url }
  })

const minting = [
  "GET /api/v3/repos/acme/shop/installation",
  "POST /api/v3/app/installations/4711/access_tokens"
] as const

const secretsOf = ({ secrets }: OpenConnection) =>
  Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, Redacted.value(value)]))

it.scopedLive("a token is for one repository and what is needed, and stands in the place of the key", () =>
  Effect.gen(function* () {
    const { app, asked, connection, forges, list, mint, url } = yield* installed()
    const tokened = yield* mint.forApi(connection, url)
    assert.deepStrictEqual(asked(), [...minting])
    assert.deepStrictEqual(secretsOf(tokened), { token: app.minted[0]?.token ?? "" })
    assert.deepInclude(app.minted[0] ?? {}, {
      repositories: ["shop"],
      permissions: {
        contents: "write",
        pull_requests: "write",
        actions: "write",
        checks: "read",
        statuses: "read",
        metadata: "read"
      }
    })
    assert.isUndefined(yield* list(tokened))
    assert.strictEqual(yield* tokened.login ?? Effect.void, "reins-helper[bot]")
    // The API keeps its token, and git has another one each time, which may do less.
    asked()
    yield* mint.forApi(connection, url)
    assert.deepStrictEqual(asked(), [])
    const forGit = secretsOf(yield* mint.forGit(connection, url))
    assert.notStrictEqual(forGit["token"], secretsOf(tokened)["token"])
    assert.deepStrictEqual(app.minted.at(-1)?.permissions, { contents: "write", metadata: "read" })
    yield* mint.forGit(connection, url)
    assert.strictEqual(app.minted.length, 3)
    assert.include((yield* Effect.flip(forges.openHooks(tokened, url))).message, "in the settings of the app")
    const other = yield* Effect.flip(mint.forApi(connection, "https://elsewhere.example/acme/shop.git"))
    assert.strictEqual(other.kind, "rejected")
  }).pipe(Effect.provide(mints))
)

it.scoped("a token is made anew 10 minutes before its end, and 20 callers at once share one", () =>
  Effect.gen(function* () {
    const { app, connection, mint, url } = yield* installed()
    // The clocks of the test and of the forge are the same at first.
    yield* TestClock.setTime(Date.now())
    const all = Effect.forEach(Array.from({ length: 20 }), () => mint.forApi(connection, url), { concurrency: 20 })
    const tokens = new Set((yield* all).map((each) => secretsOf(each)["token"]))
    assert.strictEqual(tokens.size, 1)
    yield* TestClock.adjust("49 minutes")
    app.skewMs += 49 * 60_000
    yield* all
    assert.strictEqual(app.minted.length, 1)
    yield* TestClock.adjust("2 minutes")
    app.skewMs += 2 * 60_000
    yield* all
    assert.strictEqual(app.minted.length, 2)
    // Another version of the credential has tokens of its own.
    yield* mint.forApi({ ...connection, credentialId: yield* newId(CredentialId) }, url)
    assert.strictEqual(app.minted.length, 3)
  }).pipe(Effect.provide(mints))
)

it.scopedLive("a token that was taken back is made once more, and a second refusal is told", () =>
  Effect.gen(function* () {
    const { app, connection, list, mint, server, url } = yield* installed()
    const tokened = yield* mint.forApi(connection, url)
    app.revoke()
    assert.isUndefined(yield* list(tokened))
    assert.strictEqual(app.minted.length, 2)
    // A later caller has the new one.
    assert.isUndefined(yield* list(yield* mint.forApi(connection, url)))
    assert.strictEqual(app.minted.length, 2)
    const renewed = yield* mint.forApi(connection, url)
    server.canned.push({ status: 401, body: "{}" })
    assert.isUndefined(yield* list(renewed))
    assert.strictEqual(app.minted.length, 3)
    app.takesTokens = false
    assert.strictEqual((yield* Effect.flip(list(yield* mint.forApi(connection, url)))).kind, "unauthenticated")
    assert.strictEqual(app.minted.length, 4)
    app.takesTokens = true
    app.permissions = {}
    app.revoke()
    assert.strictEqual((yield* Effect.flip(list(yield* mint.forApi(connection, url)))).kind, "forbidden")
  }).pipe(Effect.provide(mints))
)

it.scopedLive("a clock that is off is set by the answer of the forge, once, with both forms of the key", () =>
  Effect.gen(function* () {
    for (const key of [appKeys().pkcs1, appKeys().pkcs8, appKeys().pkcs8.replaceAll("\n", "\\n")]) {
      for (const hours of [-5, 3]) {
        const { app, asked, connection, list, mint, url } = yield* installed({}, key)
        app.skewMs = hours * 3_600_000
        assert.isUndefined(yield* list(yield* mint.forApi(connection, url)))
        assert.deepStrictEqual(asked().slice(0, 4), [
          minting[0],
          minting[0],
          minting[1],
          "GET /api/v3/repos/acme/shop/pulls"
        ])
      }
    }
  }).pipe(Effect.provide(mints))
)

it.scopedLive("a refusal says what to change, and neither the key nor a token", () =>
  Effect.gen(function* () {
    const told: Array<string> = []
    const refused = (given: Effect.Effect.Success<ReturnType<typeof installed>>) =>
      Effect.map(Effect.flip(given.mint.forApi(given.connection, given.url)), ({ kind, message }) => {
        told.push(message)
        return { kind, message }
      })
    const gone = yield* installed()
    gone.app.isInstalled = false
    assert.deepInclude(yield* refused(gone), { kind: "forbidden" })
    assert.include(told.at(-1), "not installed on acme/shop")
    const other = yield* installed({ installation_id: "99" })
    assert.deepInclude(yield* refused(other), { kind: "forbidden" })
    assert.include(told.at(-1), "no installation 99")
    const suspended = yield* installed({ installation_id: "4711" })
    suspended.app.isSuspended = true
    assert.deepInclude(yield* refused(suspended), { kind: "forbidden" })
    const poor = yield* installed()
    poor.app.permissions = { contents: "read", pull_requests: "write" }
    assert.deepInclude(yield* refused(poor), { kind: "forbidden" })
    assert.include(told.at(-1), "contents: write")
    const few = yield* installed()
    few.app.permissions = { contents: "write", pull_requests: "write", metadata: "read" }
    yield* few.mint.forApi(few.connection, few.url)
    assert.deepStrictEqual(few.app.minted[0]?.permissions, few.app.permissions)
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const foreign = yield* installed({}, privateKey.export({ type: "pkcs1", format: "pem" }).toString())
    assert.deepInclude(yield* refused(foreign), { kind: "unauthenticated" })
    const busy = yield* installed()
    busy.server.canned.push({ status: 403, headers: { "retry-after": "9" }, body: "{}" })
    assert.deepInclude(yield* refused(busy), { kind: "rate_limited" })
    const down = yield* installed()
    down.server.canned.push({ status: 502, body: "<html>" })
    assert.deepInclude(yield* refused(down), { kind: "unavailable" })
    for (const message of told) assert.notMatch(message, /ghs_|PRIVATE|eyJ/)
  }).pipe(Effect.provide(mints))
)

it.scopedLive("a validation tries the key, also where the clocks differ", () =>
  Effect.gen(function* () {
    const { app, connection } = yield* installed()
    const kind = (yield* ConnectionKinds).find("github_app")
    const outbound = yield* Outbound
    const probe = (given: OpenConnection) =>
      kind?.probe(given, { outbound, defaultBaseUrl: undefined, freshToken: Effect.dieMessage("no grant") }) ??
      Effect.dieMessage("no kind")
    assert.strictEqual((yield* probe(connection)).state, "passed")
    app.skewMs = 7_200_000
    assert.strictEqual((yield* probe(connection)).state, "passed")
    const refused = yield* probe({ ...connection, settings: { ...connection.settings, client_id: "other" } })
    assert.deepInclude(refused, { state: "failed", reason: "credential_refused" })
  }).pipe(Effect.provide(mints))
)

it.effect("a key that is none, is locked or is no RSA key is refused when it is given", () =>
  Effect.gen(function* () {
    const kind = (yield* ConnectionKinds).find("github_app")
    const taken = (fields: object) =>
      Effect.map(
        Effect.either(
          kind?.credential({ client_id: "Iv1.a", private_key: appKeys().pkcs1, ...fields }) ?? Effect.die("no kind")
        ),
        Either.isRight
      )
    assert.isTrue(yield* taken({}))
    assert.isTrue(yield* taken({ installation_id: "4711", private_key: appKeys().pkcs8.replaceAll("\n", "\\n") }))
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const locked = privateKey
      .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "p" })
      .toString()
    const curve = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" })
    for (const fields of [
      { private_key: "" },
      { private_key: "canary" },
      { private_key: appKeys().pkcs1.slice(0, 400) },
      { private_key: locked },
      { private_key: curve.toString() },
      { client_id: "" },
      { client_id: "a b" },
      { installation_id: "x" },
      { installation_id: "0" },
      { installation_id: 5 }
    ])
      assert.isFalse(yield* taken(fields), JSON.stringify(fields).slice(0, 60))
  }).pipe(Effect.provide(mints))
)
