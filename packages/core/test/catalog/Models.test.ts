import type { ServerResponse } from "node:http"
import { assert, layer as suite } from "@effect/vitest"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Models } from "@reins/core/catalog/Models"
import { Connections } from "@reins/core/connections/Connections"
import { Accounts } from "@reins/core/identity/Accounts"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Database } from "@reins/core/store/Database"
import { type Asked, json, localServer } from "@reins/testing/connections/LocalServer"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Fiber, Redacted, TestClock, TestContext } from "effect"
import { principalOf } from "../identity/Principals.js"

const canary = "canary-Mod8rT2vX5nB7mK1p"
const alpha = { provider_id: "alpha" }

let people = 0
/** Somebody with an account, the only member of a personal workspace. */
const newPerson = Effect.gen(function* () {
  const accounts = yield* Accounts
  const password = Redacted.make("a quiet heron at noon")
  const account = yield* accounts.createVerified({ email: `models${++people}@example.com`, password })
  const principal = principalOf(account)
  const [workspace] = (yield* (yield* Workspaces).list(principal, {})).items
  return { principal, workspaceId: workspace?.id ?? (yield* Effect.dieMessage("no workspace")) }
})

const connect = (principal: Principal, workspaceId: WorkspaceId, url: string, more: Record<string, unknown> = {}) =>
  Effect.flatMap(Connections, (connections) =>
    connections.create(principal, workspaceId, {
      kind: "alpha_gateway",
      label: "test",
      credential: { base_url: `${url}/v1`, api_key: canary, ...more }
    })
  )

const listing = (_asked: Asked, response: ServerResponse) =>
  json(response, 200, {
    object: "list",
    data: [
      { id: "one", name: "The First", context_length: 128_000 },
      { id: "two", display_name: "The Second", context_window: 200_000, name: "second" },
      { id: "three", max_model_len: -1 },
      { id: "one", name: "again" },
      { id: "" },
      { name: "nameless" }
    ]
  })

for (const database of databases) {
  const core = services(database.layer, { allowPrivateHosts: ["127.0.0.1"] })
  suite(core, { excludeTestServices: true })(`models on ${database.name}`, (it) => {
    it.scoped("are what the gateway of the newest active connection lists, each once", () =>
      Effect.gen(function* () {
        const server = yield* localServer(listing)
        const { principal, workspaceId } = yield* newPerson
        const connection = yield* connect(principal, workspaceId, server.url)
        const models = yield* Models
        const list = yield* models.list(principal, alpha)
        const common = { provider_id: "alpha", connection_id: connection.id }
        assert.deepStrictEqual(list.items, [
          { id: "one", ...common, display_name: "The First", context_window: 128_000 },
          { id: "two", ...common, display_name: "The Second", context_window: 200_000 },
          { id: "three", ...common, display_name: null, context_window: null }
        ])
        assert.deepStrictEqual(yield* models.list(principal, { ...alpha, workspace_id: workspaceId }), list)
        assert.deepStrictEqual(
          server.asked.map(({ headers, path }) => [path, headers.authorization]),
          [["/v1/models", `Bearer ${canary}`]]
        )
      })
    )

    it.scoped("are those of the connection that is named, of the newest one when none is", () =>
      Effect.gen(function* () {
        const listingOf = (id: string) =>
          localServer((_, response) => json(response, 200, { object: "list", data: [{ id, object: "model" }] }))
        const { principal, workspaceId } = yield* newPerson
        const older = yield* connect(principal, workspaceId, (yield* listingOf("older")).url)
        const newer = yield* connect(principal, workspaceId, (yield* listingOf("newer")).url)
        const models = yield* Models
        const idsOf = (query: object) =>
          Effect.map(models.list(principal, { ...alpha, ...query }), ({ items }) =>
            items.map(({ connection_id, id }) => [id, connection_id])
          )
        assert.deepStrictEqual(yield* idsOf({}), [["newer", newer.id]])
        assert.deepStrictEqual(yield* idsOf({ connection_id: older.id }), [["older", older.id]])
        assert.deepStrictEqual(yield* idsOf({ connection_id: newer.id }), [["newer", newer.id]])
        const others = yield* newPerson
        const foreign = yield* connect(others.principal, others.workspaceId, "http://127.0.0.1:9")
        const forge = yield* (yield* Connections).create(principal, workspaceId, {
          kind: "github",
          label: "forge",
          credential: { token: canary }
        })
        const codeOf = (query: object) => Effect.map(Effect.flip(idsOf(query)), ({ code }) => code)
        assert.strictEqual(yield* codeOf({ connection_id: foreign.id }), "not_found")
        assert.strictEqual(yield* codeOf({ connection_id: older.id, workspace_id: others.workspaceId }), "not_found")
        assert.strictEqual(yield* codeOf({ connection_id: forge.id }), "connection_required")
        yield* (yield* Connections).disconnect(principal, older.id)
        assert.strictEqual(yield* codeOf({ connection_id: older.id }), "connection_revoked")
      })
    )

    it.scoped(
      "are asked for once by many at the same time, and again after five minutes or with a new credential",
      () =>
        Effect.gen(function* () {
          const server = yield* localServer(listing)
          const { principal, workspaceId } = yield* newPerson
          const { id } = yield* connect(principal, workspaceId, server.url)
          const models = yield* Models
          const twenty = Array.from({ length: 20 }, () => models.list(principal, alpha))
          yield* Effect.all(twenty, { concurrency: "unbounded" })
          assert.lengthOf(server.asked, 1)
          yield* TestClock.adjust("4 minutes")
          yield* models.list(principal, alpha)
          assert.lengthOf(server.asked, 1)
          yield* TestClock.adjust("2 minutes")
          yield* models.list(principal, alpha)
          assert.lengthOf(server.asked, 2)
          const credential = { base_url: `${server.url}/v1`, api_key: `${canary}-2` }
          yield* (yield* Connections).replaceCredential(principal, id, { credential })
          yield* models.list(principal, alpha)
          assert.strictEqual(server.asked[2]?.headers.authorization, `Bearer ${canary}-2`)
        }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.scoped("come to everybody who waits when the one who asked first leaves", () =>
      Effect.gen(function* () {
        const arrived = yield* Deferred.make<void>()
        const held: Array<() => void> = []
        const server = yield* localServer((asked, response) => {
          held.push(() => listing(asked, response))
          Deferred.unsafeDone(arrived, Effect.void)
        })
        const { principal, workspaceId } = yield* newPerson
        yield* connect(principal, workspaceId, server.url)
        const models = yield* Models
        const first = yield* Effect.fork(models.list(principal, alpha))
        yield* Deferred.await(arrived)
        const second = yield* Effect.fork(models.list(principal, alpha))
        yield* Fiber.interrupt(first)
        for (const answer of held) answer()
        assert.lengthOf((yield* Fiber.join(second)).items, 3)
        assert.lengthOf(server.asked, 1)
      })
    )

    it.scoped("fail without a connection, for another's workspace, and for a provider that cannot list them", () =>
      Effect.gen(function* () {
        const server = yield* localServer(listing)
        const somebody = yield* newPerson
        const other = yield* newPerson
        const models = yield* Models
        const codeOf = (query: { readonly provider_id: string; readonly workspace_id?: string }) =>
          Effect.map(Effect.flip(models.list(somebody.principal, query)), ({ code }) => code)
        assert.strictEqual(yield* codeOf(alpha), "connection_required")
        assert.strictEqual(yield* codeOf({ ...alpha, workspace_id: other.workspaceId }), "not_found")
        assert.strictEqual(yield* codeOf({ ...alpha, workspace_id: "nowhere" }), "not_found")
        assert.strictEqual(yield* codeOf({ provider_id: "beta" }), "connection_required")
        assert.strictEqual(yield* codeOf({ provider_id: "gamma" }), "provider_disabled")
        assert.strictEqual(yield* codeOf({ provider_id: "nobody" }), "provider_disabled")
        const connections = yield* Connections
        const { id } = yield* connect(somebody.principal, somebody.workspaceId, server.url)
        yield* models.list(somebody.principal, alpha)
        yield* connections.update(somebody.principal, id, { state: "disabled" })
        assert.strictEqual(yield* codeOf(alpha), "connection_required")
        yield* connections.disconnect(somebody.principal, id)
        assert.strictEqual(yield* codeOf(alpha), "connection_required")
      })
    )

    const troubles: ReadonlyArray<readonly [name: string, code: string, answer: (response: ServerResponse) => void]> = [
      ["a refused key", "credential_invalid", (response) => json(response, 401, { error: canary })],
      ["no list", "upstream_error", (response) => json(response, 404, { error: canary })],
      ["an error of the gateway", "upstream_error", (response) => json(response, 500, { error: canary })],
      ["a page", "upstream_error", (response) => void response.end(`<html>${canary}`)],
      [
        "a redirect",
        "upstream_error",
        (response) => void response.writeHead(302, { location: `http://x/${canary}` }).end()
      ],
      ["a closed connection", "upstream_error", (response) => void response.destroy()]
    ]
    for (const [name, code, answer] of troubles) {
      it.scoped(`${name} is ${code}, is not kept, and says nothing of the key`, () =>
        Effect.gen(function* () {
          let broken = true
          const server = yield* localServer((asked, response) => (broken ? answer(response) : listing(asked, response)))
          const { principal, workspaceId } = yield* newPerson
          const { id } = yield* connect(principal, workspaceId, server.url)
          const models = yield* Models
          const error = yield* Effect.flip(models.list(principal, alpha))
          assert.strictEqual(error.code, code)
          assert.notInclude(JSON.stringify(error) + error.message, canary)
          assert.strictEqual((yield* (yield* Connections).get(principal, id)).health, "unverified")
          broken = false
          assert.lengthOf((yield* models.list(principal, alpha)).items, 3)
        })
      )
    }

    it.scoped("a gateway that hangs is upstream_timeout after half a minute", () =>
      Effect.gen(function* () {
        const arrived = yield* Deferred.make<void>()
        const server = yield* localServer(() => Deferred.unsafeDone(arrived, Effect.void))
        const { principal, workspaceId } = yield* newPerson
        yield* connect(principal, workspaceId, server.url)
        const asking = yield* Effect.fork(Effect.flip((yield* Models).list(principal, alpha)))
        yield* Deferred.await(arrived)
        yield* TestClock.adjust("31 seconds")
        assert.strictEqual((yield* Fiber.join(asking)).code, "upstream_timeout")
      }).pipe(Effect.provide(TestContext.TestContext))
    )

    it.scoped("a private gateway that the operator has not allowed is not asked", () =>
      Effect.gen(function* () {
        const server = yield* localServer(listing)
        const { principal, workspaceId } = yield* newPerson
        yield* connect(principal, workspaceId, `http://localhost:${server.port}`)
        const error = yield* Effect.flip((yield* Models).list(principal, alpha))
        assert.deepInclude(error.details, { reason: "refused_address" })
        assert.strictEqual(error.code, "upstream_error")
        assert.lengthOf(server.asked, 0)
      })
    )

    it.scoped("reading them writes nothing", () =>
      Effect.gen(function* () {
        const server = yield* localServer(listing)
        const { principal, workspaceId } = yield* newPerson
        yield* connect(principal, workspaceId, server.url)
        const db = yield* Database
        const rows = Effect.forEach(
          ["connections", "credentials", "connection_validations", "jobs", "events"],
          (table) => db.all(db.sql`select * from ${db.sql(table)} order by 1`)
        )
        const before = yield* rows
        yield* (yield* Models).list(principal, alpha)
        assert.deepStrictEqual(yield* rows, before)
      })
    )
  })
}
