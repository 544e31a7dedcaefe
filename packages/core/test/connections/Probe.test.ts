import type { ServerResponse } from "node:http"
import { assert, layer as suite } from "@effect/vitest"
import { Validations } from "@reins/core/connections/Validations"
import { Database } from "@reins/core/store/Database"
import { json, localServer } from "@reins/testing/connections/LocalServer"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import { canary, connect, gateway, validated, withoutList, withTestClock } from "./ValidatedGateway.js"
import { claimOf, workOn } from "./ValidationRun.js"

interface Refusal {
  readonly status?: number
  readonly words: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The question for the list, and the key in it, of each protocol. */
const asks = {
  openai_chat: { query: "", field: { authorization: `Bearer ${canary}` } },
  openai_responses: { query: "", field: { authorization: `Bearer ${canary}` } },
  anthropic_messages: { query: "?limit=1000", field: { "x-api-key": canary } },
  gemini: { query: "?pageSize=1000", field: { "x-goog-api-key": canary } }
} as const

for (const database of flowDatabases) {
  const core = services(database.layer, { allowPrivateHosts: ["127.0.0.1"] })
  suite(core, { excludeTestServices: true })(`the probe of a connection on ${database.name}`, (it) => {
    for (const protocol of ["openai_chat", "openai_responses", "anthropic_messages", "gemini"] as const) {
      const kind = protocol === "gemini" ? "gateway" : "alpha_gateway"
      it.scoped(`a gateway that lists its models in ${protocol} passes, with the key where that protocol has it`, () =>
        Effect.gen(function* () {
          const server = yield* localServer(gateway)
          const credential = { base_url: `${server.url}/v1/`, api_key: canary, protocol }
          const { id, principal } = yield* connect(kind, credential)
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
          assert.strictEqual(provider_id, kind === "gateway" ? null : "alpha")
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
          const { field, query } = asks[protocol]
          assert.strictEqual(asked?.path, `/v1/models${query}`)
          const given = ["authorization", "x-api-key", "x-goog-api-key"].map((name) => [name, asked?.headers[name]])
          assert.deepStrictEqual(Object.fromEntries(given), {
            authorization: undefined,
            "x-api-key": undefined,
            "x-goog-api-key": undefined,
            ...field
          })
        })
      )

      it.scoped(`a gateway without a list is asked for the least completion of ${protocol}, if a model is known`, () =>
        Effect.gen(function* () {
          const server = yield* localServer(withoutList)
          const credential = { base_url: `${server.url}/v1`, api_key: canary, protocol }
          const { connections, id, principal } = yield* connect(kind, credential)
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
          if (protocol === "gemini") assert.strictEqual(server.asked.at(-1)?.path, "/v1/models/one:generateContent")
          else assert.strictEqual(last.model, "one")
          assert.isAtMost(last.max_tokens ?? last.max_output_tokens ?? last.generationConfig.maxOutputTokens, 16)
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

    const refusals: ReadonlyArray<
      readonly [what: string, state: string, reason: string | null, health: string, answer: (path: string) => Refusal]
    > = [
      [
        "a token of an installation, which has no user",
        "passed",
        null,
        "ready",
        () => ({ words: "Resource not accessible by integration" })
      ],
      [
        "a fine-grained token",
        "passed",
        null,
        "ready",
        () => ({ words: "Resource not accessible by personal access token" })
      ],
      [
        "a secondary limit",
        "inconclusive",
        "rate_limited",
        "degraded",
        () => ({ words: "You have exceeded a secondary rate limit." })
      ],
      [
        "a used up limit",
        "inconclusive",
        "rate_limited",
        "degraded",
        () => ({ words: "", headers: { "x-ratelimit-remaining": "0" } })
      ],
      [
        "a list of addresses",
        "inconclusive",
        "unexpected_answer",
        "degraded",
        () => ({ words: "the `acme` organization has an IP allow list enabled" })
      ],
      [
        "an organisation",
        "failed",
        "credential_refused",
        "reauth_required",
        () => ({ words: "Resource protected by organization SAML enforcement." })
      ],
      [
        "bad credentials",
        "failed",
        "credential_refused",
        "reauth_required",
        () => ({ status: 401, words: "Bad credentials" })
      ],
      [
        "a path without its slash",
        "passed",
        null,
        "ready",
        (path) =>
          path.endsWith("/")
            ? { status: 200, words: "" }
            : { status: 308, words: "", headers: { location: `${path}/` } }
      ],
      [
        "a circle of redirects",
        "failed",
        "redirect",
        "degraded",
        (path) => ({ status: 307, words: "", headers: { location: path } })
      ]
    ]
    for (const [what, state, reason, health, answer] of refusals) {
      it.scoped(`github: ${what} is ${state}${reason === null ? "" : `: ${reason}`}`, () =>
        Effect.gen(function* () {
          const server = yield* localServer(({ path }, response) => {
            const { headers = {}, status = 403, words } = answer(path)
            response.writeHead(status, headers).end(JSON.stringify({ message: words }))
          })
          const { id } = yield* connect("github", { base_url: server.url, token: canary })
          const result = yield* validated(id)
          assert.deepStrictEqual([result.ended?.state, result.ended?.reason, result.health], [state, reason, health])
        })
      )
    }

    it.effect("a credential for git has nowhere to be checked", () =>
      Effect.gen(function* () {
        const { id } = yield* connect("git", { origin: "https://git.example", username: "me", password: canary })
        const { ended, health, items } = yield* validated(id)
        assert.deepInclude(ended, { state: "inconclusive", reason: "no_endpoint" })
        assert.strictEqual(health, "unverified")
        assert.deepStrictEqual(
          items.map(({ value }) => value),
          ["unknown"]
        )
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
