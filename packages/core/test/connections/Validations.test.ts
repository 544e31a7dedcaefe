import type { ServerResponse } from "node:http"
import { assert, layer as suite } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { Validations } from "@reins/core/connections/Validations"
import type { ConnectionKind } from "@reins/core/domain/Connection"
import type { ConnectionId } from "@reins/core/domain/Ids"
import * as Embedded from "@reins/core/Embedded"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Database } from "@reins/core/store/Database"
import { Clock, Deferred, Effect, Fiber, TestClock, TestContext } from "effect"
import { services } from "../sessions/Services.js"
import { databases } from "../store/Databases.js"
import { type Asked, json, localServer } from "./LocalServer.js"
import { claimOf, failForGood, workAll, workOn } from "./ValidationRun.js"

const canary = "canary-Val8rT2vX5nB7mK1p"

const connect = (kind: ConnectionKind, credential: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    const connections = yield* Connections
    const connection = yield* connections.create(principal, workspaceId, { kind, label: "test", credential })
    return { principal, id: connection.id, connections }
  })

/** Validates a connection to the end; what it was, what it is now, and what was observed. */
const validated = (id: ConnectionId) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const validations = yield* Validations
    const { operation, validation } = yield* validations.request(principal, id)
    assert.deepInclude(validation, { state: "queued", reason: null, observations: [], started_at: null })
    yield* workAll
    const ended = (yield* validations.list(principal, id, {})).items.find((item) => item.id === validation.id)
    const connection = yield* (yield* Connections).get(principal, id)
    const { items, provider_id } = yield* validations.capabilities(principal, id)
    const job = yield* (yield* Jobs).get(principal, operation.job_id)
    return { ended, health: connection.health, items, provider_id, job }
  })

/** Runs with a clock that stands still at the present until it is moved. */
const withTestClock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Clock.currentTimeMillis, (present) =>
    Effect.zipRight(TestClock.setTime(present), effect).pipe(Effect.provide(TestContext.TestContext))
  )

const authorized = ({ headers }: Asked) =>
  headers.authorization === `Bearer ${canary}` || headers["x-api-key"] === canary

/** A gateway that wants the key, lists two models and answers completions. */
const gateway = (asked: Asked, response: ServerResponse) => {
  if (!authorized(asked))
    return json(response, 401, { error: { message: `no such key: ${asked.headers.authorization}` } })
  if (asked.path.startsWith("/v1/models")) return json(response, 200, { data: [{ id: "one" }, { id: "two" }] })
  return json(response, 200, { id: "answer" })
}

const withoutList = (asked: Asked, response: ServerResponse) =>
  asked.path.startsWith("/v1/models") ? json(response, 404, {}) : gateway(asked, response)

for (const database of databases) {
  const core = services(database.layer, { allowPrivateHosts: ["127.0.0.1"] })
  suite(core, { excludeTestServices: true })(`validations on ${database.name}`, (it) => {
    for (const protocol of ["openai_chat", "openai_responses", "anthropic_messages"]) {
      it.scoped(`a gateway that lists its models in ${protocol} passes, with the key where that protocol has it`, () =>
        Effect.gen(function* () {
          const server = yield* localServer(gateway)
          const credential = { base_url: `${server.url}/v1/`, api_key: canary, protocol }
          const { id, principal } = yield* connect("alpha_gateway", credential)
          const before = yield* (yield* Validations).capabilities(principal, id)
          assert.deepStrictEqual(
            before.items.map(({ capability, evidence, observed_at, value }) => [
              capability,
              value,
              evidence,
              observed_at
            ]),
            [
              ["authentication", "unknown", null, null],
              ["models_list", "unknown", null, null],
              ["completions", "unknown", null, null]
            ]
          )
          const { ended, health, items, job, provider_id } = yield* validated(id)
          assert.deepInclude(ended, { state: "passed", reason: null, reason_message: null })
          assert.strictEqual(ended?.credential.ordinal, 1)
          assert.strictEqual(health, "ready")
          assert.strictEqual(provider_id, "alpha")
          assert.strictEqual(job.state, "succeeded")
          assert.deepStrictEqual(
            items.map(({ capability, value }) => [capability, value]),
            [
              ["authentication", "supported"],
              ["models_list", "supported"],
              ["completions", "unknown"]
            ]
          )
          assert.include(items[1]?.evidence, "lists 2 models")
          const [asked] = server.asked
          const anthropic = protocol === "anthropic_messages"
          assert.strictEqual(asked?.path, anthropic ? "/v1/models?limit=1000" : "/v1/models")
          assert.strictEqual(asked?.headers["x-api-key"], anthropic ? canary : undefined)
          assert.strictEqual(asked?.headers.authorization, anthropic ? undefined : `Bearer ${canary}`)
        })
      )

      it.scoped(`a gateway without a list is asked for the least completion of ${protocol}, if a model is known`, () =>
        Effect.gen(function* () {
          const server = yield* localServer(withoutList)
          const credential = { base_url: `${server.url}/v1`, api_key: canary, protocol }
          const { connections, id, principal } = yield* connect("alpha_gateway", credential)
          const unknown = yield* validated(id)
          assert.deepInclude(unknown.ended, { state: "inconclusive", reason: "model_required" })
          assert.strictEqual(unknown.health, "unverified")
          yield* connections.update(principal, id, { preferred_model: "one" })
          const { ended, health, items } = yield* validated(id)
          assert.strictEqual(ended?.state, "passed")
          assert.strictEqual(health, "ready")
          assert.deepStrictEqual(
            items.map(({ value }) => value),
            ["supported", "unsupported", "supported"]
          )
          const last = JSON.parse(server.asked.at(-1)?.body ?? "{}")
          assert.strictEqual(last.model, "one")
          assert.isAtMost(last.max_tokens ?? last.max_output_tokens, 16)
        })
      )
    }

    it.scoped("a refused key fails and asks for another one", () =>
      Effect.gen(function* () {
        const server = yield* localServer(gateway)
        const { id } = yield* connect("alpha_gateway", { base_url: `${server.url}/v1`, api_key: `${canary}-wrong` })
        const { ended, health, items } = yield* validated(id)
        assert.deepInclude(ended, { state: "failed", reason: "credential_refused" })
        assert.strictEqual(health, "reauth_required")
        assert.deepInclude(items[0], { capability: "authentication", value: "unsupported" })
        assert.include(items[0]?.evidence, "401")
      })
    )

    const troubles: ReadonlyArray<
      readonly [name: string, state: string, reason: string, health: string, answer: (response: ServerResponse) => void]
    > = [
      ["an error of the gateway", "inconclusive", "upstream_error", "degraded", (response) => json(response, 500, {})],
      ["too many requests", "inconclusive", "rate_limited", "degraded", (response) => json(response, 429, {})],
      ["a used up quota", "inconclusive", "quota_exhausted", "degraded", (response) => json(response, 402, {})],
      [
        "a page in the place of the list",
        "inconclusive",
        "model_required",
        "unverified",
        (response) => void response.end("<html>")
      ],
      [
        "a redirect to another host",
        "failed",
        "redirect",
        "degraded",
        (response) => void response.writeHead(307, { location: "http://example.com/" }).end()
      ],
      [
        "a huge body",
        "inconclusive",
        "unexpected_answer",
        "degraded",
        (response) => void response.end("x".repeat(2 * 1024 * 1024))
      ],
      ["a connection that is closed", "inconclusive", "unreachable", "degraded", (response) => void response.destroy()]
    ]
    for (const [name, state, reason, health, answer] of troubles) {
      it.scoped(`${name} is ${state}: ${reason}`, () =>
        Effect.gen(function* () {
          const server = yield* localServer((_asked, response) => answer(response))
          const { id } = yield* connect("alpha_gateway", { base_url: `${server.url}/v1`, api_key: canary })
          const result = yield* validated(id)
          assert.deepStrictEqual([result.ended?.state, result.ended?.reason], [state, reason])
          assert.strictEqual(result.health, health)
          assert.isNotEmpty(result.ended?.reason_message ?? "")
        })
      )
    }

    it.scoped("a gateway that hangs is inconclusive after half a minute", () =>
      Effect.gen(function* () {
        const arrived = yield* Deferred.make<void>()
        const server = yield* localServer(() => Deferred.unsafeDone(arrived, Effect.void))
        const { connections, id, principal } = yield* connect("alpha_gateway", {
          base_url: server.url,
          api_key: canary
        })
        const validations = yield* Validations
        const { validation } = yield* validations.request(principal, id)
        const claim = yield* claimOf(validation.id)
        const working = yield* Effect.fork(workOn(claim))
        yield* Deferred.await(arrived)
        yield* TestClock.adjust("31 seconds")
        yield* Fiber.join(working)
        const [only] = (yield* validations.list(principal, id, {})).items
        assert.deepInclude(only, { state: "inconclusive", reason: "timeout" })
        assert.strictEqual((yield* connections.get(principal, id)).health, "degraded")
      }).pipe(withTestClock)
    )

    it.effect("a private address that the operator has not allowed fails without being asked", () =>
      Effect.gen(function* () {
        for (const base_url of [
          "http://localhost:9/v1",
          "https://169.254.169.254/v1",
          "http://[::1]:9/",
          "http://gateway.example/"
        ]) {
          const { id } = yield* connect("alpha_gateway", { base_url, api_key: canary })
          const { ended, health } = yield* validated(id)
          assert.deepInclude(ended, { state: "failed", reason: "address_refused" }, base_url)
          assert.strictEqual(health, "degraded")
          assert.include(ended?.reason_message, "REINS_ALLOW_PRIVATE_HOSTS")
        }
      })
    )

    const forges = [
      ["github", "/api/v3/user", "Bearer"],
      ["gitlab", "/api/v4/user", "Bearer"],
      ["gitea", "/api/v1/user", "token"]
    ] as const
    for (const [kind, path, scheme] of forges) {
      it.scoped(`a token of ${kind} passes when it tells the user, and fails when it is refused`, () =>
        Effect.gen(function* () {
          const server = yield* localServer(({ headers }, response) =>
            headers.authorization === `${scheme} ${canary}`
              ? json(response, 200, { login: "somebody" })
              : json(response, 401, { message: "Bad credentials" })
          )
          const good = yield* connect(kind, { base_url: server.url, token: canary })
          const passed = yield* validated(good.id)
          assert.strictEqual(passed.ended?.state, "passed")
          assert.strictEqual(passed.health, "ready")
          assert.strictEqual(passed.provider_id, null)
          assert.strictEqual(server.asked[0]?.path, path)
          const bad = yield* connect(kind, { base_url: server.url, token: "another" })
          assert.deepInclude((yield* validated(bad.id)).ended, { state: "failed", reason: "credential_refused" })
        })
      )
    }

    it.effect("a credential for git has nowhere to be checked", () =>
      Effect.gen(function* () {
        const { id } = yield* connect("git", { username: "me", password: canary })
        const { ended, health, items } = yield* validated(id)
        assert.deepInclude(ended, { state: "inconclusive", reason: "no_endpoint" })
        assert.strictEqual(health, "unverified")
        assert.deepStrictEqual(
          items.map(({ value }) => value),
          ["unknown"]
        )
      })
    )

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
        const { connections, id, principal } = yield* connect("git", { username: "me", password: canary })
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
        for (const read of [
          Effect.asVoid(validations.request(principal, unknown)),
          Effect.asVoid(validations.list(principal, unknown, {})),
          Effect.asVoid(validations.capabilities(principal, unknown))
        ]) {
          assert.strictEqual((yield* Effect.flip(read)).code, "not_found")
        }
      })
    )

    it.effect("a job that fails for good leaves the validation inconclusive and the health open", () =>
      Effect.gen(function* () {
        const { connections, id, principal } = yield* connect("git", { username: "me", password: canary })
        const validations = yield* Validations
        const { validation } = yield* validations.request(principal, id)
        const claim = yield* claimOf(validation.id)
        yield* failForGood(claim)
        const [only] = (yield* validations.list(principal, id, {})).items
        assert.deepInclude(only, { state: "inconclusive", reason: "upstream_error" })
        assert.strictEqual((yield* connections.get(principal, id)).health, "unverified")
      })
    )

    it.scoped("a gateway that says the key back gets it into no table", () =>
      Effect.gen(function* () {
        const answers = [
          (response: ServerResponse) => json(response, 401, { error: canary }),
          (response: ServerResponse) => json(response, 200, { data: [{ id: canary, name: canary }] }),
          (response: ServerResponse) => void response.writeHead(302, { location: `http://x/${canary}` }).end(),
          (response: ServerResponse) => void response.end(canary)
        ]
        let next = 0
        const server = yield* localServer((_asked, response) => answers[next++ % answers.length]?.(response))
        for (const _ of answers) {
          const { id } = yield* connect("alpha_gateway", { base_url: `${server.url}/v1`, api_key: canary })
          yield* validated(id)
        }
        const db = yield* Database
        for (const table of ["connections", "credentials", "connection_validations", "jobs", "attempts", "events"]) {
          const rows = yield* db.all(db.sql`select * from ${db.sql(table)}`)
          assert.notInclude(JSON.stringify(rows), canary, table)
        }
      })
    )
  })
}
