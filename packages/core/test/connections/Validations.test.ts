import { assert, layer as suite } from "@effect/vitest"
import { Validations } from "@reins/core/connections/Validations"
import { localServer } from "@reins/testing/connections/LocalServer"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Fiber } from "effect"
import { canary, connect, gateway, validated } from "./ValidatedGateway.js"
import { claimOf, failForGood, workAll, workOn } from "./ValidationRun.js"

for (const database of databases) {
  const core = services(database.layer, { allowPrivateHosts: ["127.0.0.1"] })
  suite(core, { excludeTestServices: true })(`validations on ${database.name}`, (it) => {
    it.scoped("one that has not ended is given back; after its end there is a new one, newest first", () =>
      Effect.gen(function* () {
        const server = yield* localServer(gateway)
        const { id, principal } = yield* connect("alpha_gateway", { base_url: `${server.url}/v1`, api_key: canary })
        const validations = yield* Validations
        const first = yield* validations.request(principal, id)
        assert.deepStrictEqual(yield* validations.request(principal, id), first)
        yield* workAll
        const second = yield* validations.request(principal, id)
        assert.notStrictEqual(second.validation.id, first.validation.id)
        const { items } = yield* validations.list(principal, id, {})
        assert.deepStrictEqual(
          items.map((item) => [item.id, item.state]),
          [
            [second.validation.id, "queued"],
            [first.validation.id, "passed"]
          ]
        )
        yield* workAll
      })
    )

    it.scoped("twenty requests at once are one validation", () =>
      Effect.gen(function* () {
        const server = yield* localServer(gateway)
        const { id, principal } = yield* connect("alpha_gateway", { base_url: `${server.url}/v1`, api_key: canary })
        const validations = yield* Validations
        const answers = yield* Effect.all(
          Array.from({ length: 20 }, () => validations.request(principal, id)),
          { concurrency: "unbounded" }
        )
        assert.lengthOf([...new Set(answers.map(({ validation }) => validation.id))], 1)
        yield* workAll
        assert.lengthOf(server.asked, 1)
      })
    )

    it.scoped(
      "a new credential version supersedes the one that runs, whose end then says nothing of the connection",
      () =>
        Effect.gen(function* () {
          const arrived = yield* Deferred.make<void>()
          const held: Array<() => void> = []
          const server = yield* localServer((asked, response) => {
            held.push(() => gateway(asked, response))
            Deferred.unsafeDone(arrived, Effect.void)
          })
          const credential = { base_url: `${server.url}/v1`, api_key: canary }
          const { connections, id, principal } = yield* connect("alpha_gateway", credential)
          const validations = yield* Validations
          const { validation } = yield* validations.request(principal, id)
          const fiber = yield* Effect.fork(Effect.flatMap(claimOf(validation.id), workOn))
          yield* Deferred.await(arrived)
          assert.strictEqual((yield* connections.get(principal, id)).health, "verifying")
          yield* connections.replaceCredential(principal, id, { credential })
          for (const answer of held) answer()
          yield* Fiber.join(fiber)
          const [only] = (yield* validations.list(principal, id, {})).items
          assert.deepInclude(only, { state: "superseded", observations: [] })
          assert.strictEqual((yield* connections.get(principal, id)).health, "unverified")
          const { items } = yield* validations.capabilities(principal, id)
          assert.deepStrictEqual([...new Set(items.map(({ value }) => value))], ["unknown"])
        })
    )

    it.scoped("what was observed with an old version is not told of the new one", () =>
      Effect.gen(function* () {
        const server = yield* localServer(gateway)
        const credential = { base_url: `${server.url}/v1`, api_key: canary }
        const { connections, id, principal } = yield* connect("alpha_gateway", credential)
        assert.strictEqual((yield* validated(id)).items[0]?.value, "supported")
        yield* connections.replaceCredential(principal, id, { credential: { ...credential, api_key: "another" } })
        const { items } = yield* (yield* Validations).capabilities(principal, id)
        assert.deepInclude(items[0], { value: "unknown", evidence: null, observed_at: null })
        const after = yield* validated(id)
        assert.strictEqual(after.ended?.credential.ordinal, 2)
        assert.strictEqual(after.items[0]?.value, "unsupported")
      })
    )

    it.effect("a disabled connection is not checked, a revoked one never again, a foreign one is not there", () =>
      Effect.gen(function* () {
        const { connections, id, principal } = yield* connect("git", {
          origin: "https://git.example",
          username: "me",
          password: canary
        })
        const validations = yield* Validations
        yield* connections.update(principal, id, { state: "disabled" })
        assert.strictEqual((yield* Effect.flip(validations.request(principal, id))).code, "connection_required")
        yield* connections.update(principal, id, { state: "active" })
        const { validation } = yield* validations.request(principal, id)
        yield* connections.disconnect(principal, id)
        assert.strictEqual((yield* Effect.flip(validations.request(principal, id))).code, "connection_revoked")
        yield* workAll
        const { items } = yield* validations.list(principal, id, {})
        assert.deepStrictEqual(
          items.map((item) => [item.id, item.state]),
          [[validation.id, "superseded"]]
        )
        const unknown = "con_00000000000000000000000000"
        const refusals = [
          yield* Effect.flip(validations.request(principal, unknown)),
          yield* Effect.flip(validations.list(principal, unknown, {})),
          yield* Effect.flip(validations.capabilities(principal, unknown))
        ]
        for (const { code } of refusals) assert.strictEqual(code, "not_found")
      })
    )

    it.effect("a job that fails for good leaves the validation inconclusive and the health open", () =>
      Effect.gen(function* () {
        const { connections, id, principal } = yield* connect("git", {
          origin: "https://git.example",
          username: "me",
          password: canary
        })
        const validations = yield* Validations
        const { validation } = yield* validations.request(principal, id)
        const claim = yield* claimOf(validation.id)
        yield* failForGood(claim)
        const [only] = (yield* validations.list(principal, id, {})).items
        assert.deepInclude(only, { state: "inconclusive", reason: "upstream_error" })
        assert.strictEqual((yield* connections.get(principal, id)).health, "unverified")
      })
    )
  })
}
