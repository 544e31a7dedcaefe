import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import type { ForgeError, ForgeKind } from "@reins/machine/forge/Forge"
import { Forges } from "@reins/machine/forge/Forges"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { onLoopback } from "../connections/Loopback.js"
import type { Between } from "../world/Between.js"
import { type Canned, type Dialect, ForgeServer } from "./ForgeServer.js"

/** A kind of forge, with a server that imitates its product. */
export interface ForgeSubject {
  readonly forge: ForgeKind
  /** The path of a repository that the forge may have. */
  readonly repository: string
  readonly dialect: Dialect
  /** The answer to a merge that is temporarily impossible, for a forge that has one. */
  readonly notNow?: Canned
}

const token = "forge-token-Zq8rT2vX5nB7"

interface Way {
  readonly token?: string
  /** Opens a proxy before the server, which the client asks then. */
  readonly through?: (url: string) => Effect.Effect<Between, never, Scope.Scope>
}

/** A server of the kind with the branches `main`, `develop` and `work`, and a client for it. */
export const forgeOf = ({ dialect, forge: kind, repository }: ForgeSubject, given: Way = {}) =>
  Effect.gen(function* () {
    const heads = new Map([
      ["main", "a".repeat(40)],
      ["develop", "d".repeat(40)],
      ["work", "c".repeat(40)]
    ])
    const server = new ForgeServer(dialect, token, {
      headOf: (branch) => heads.get(branch),
      merge: (head, base) => void heads.set(base, heads.get(head) ?? ""),
      remove: (branch) => void heads.delete(branch)
    })
    const port = yield* onLoopback(() =>
      createServer((request, response) => {
        if (!server.handle(request, response)) response.writeHead(418).end()
      })
    )
    const between = given.through === undefined ? undefined : yield* given.through(`http://127.0.0.1:${port}`)
    const url = between?.url ?? `http://127.0.0.1:${port}`
    const credential = {
      kind: kind.kind,
      settings: { base_url: url },
      secrets: { token: Redacted.make(given.token ?? token) }
    }
    const forges = yield* Effect.provide(
      Forges,
      Layer.provide(Forges.layerOf([kind]), Layer.succeed(Outbound, yield* Outbound))
    )
    const forge = yield* forges.open(credential, `${url}/${repository}.git`)
    return { between, forge, heads, server }
  })

export const allowed = Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })
const branches = { head: "work", base: "main" }
export const request = {
  ...branches,
  title: "Fix the sum",
  description: "It adds.\n\nReins-Delivery: dlv_1",
  draft: false
}
const kindOf = <A>(effect: Effect.Effect<A, ForgeError>) => Effect.map(Effect.flip(effect), (error) => error.kind)

/** The promises of `Forge` and `ForgeKind`, for one kind of forge. */
export const forgeSuite = (subject: ForgeSubject): void => {
  describe(subject.forge.kind, () => {
    it.scopedLive("what is created is found by its branches and read by its number", () =>
      Effect.gen(function* () {
        const { forge, heads, server } = yield* forgeOf(subject)
        server.add({ head: "other", base: "main" })
        assert.isUndefined(yield* forge.find(branches))
        const created = yield* forge.create(request)
        assert.deepInclude(created, {
          number: 2,
          state: "open",
          draft: false,
          description: request.description,
          headSha: heads.get("work") ?? ""
        })
        assert.match(created.webUrl ?? "", /^https:\/\/.*\/2$/)
        assert.deepStrictEqual(yield* forge.find(branches), created)
        assert.deepStrictEqual(yield* forge.get(2), created)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a draft is one in the way of the forge", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        assert.isTrue((yield* forge.create({ ...request, draft: true })).draft)
        assert.isTrue(server.pulls[0]?.draft)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("only an open one of the same repository and base is found", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        server.add({ ...branches, state: "closed" })
        server.add({ ...branches, state: "merged" })
        server.add({ ...branches, fork: true })
        server.add({ head: "work", base: "develop" })
        assert.isUndefined(yield* forge.find(branches))
        const own = server.add(branches)
        for (let index = 0; index < 60; index++) server.add({ head: `noise-${index}`, base: "main" })
        assert.strictEqual((yield* forge.find(branches))?.number, own.number)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a second one for the same branches is exists; a branch that is not there is not", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        yield* forge.create(request)
        assert.strictEqual(yield* kindOf(forge.create(request)), "exists")
        assert.strictEqual(server.pulls.length, 1)
        const nowhere = yield* kindOf(forge.create({ ...request, base: "nowhere" }))
        assert.include(["not_found", "rejected"], nowhere)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a merge takes exactly the expected head, by every method that the forge has", () =>
      Effect.gen(function* () {
        for (const method of subject.forge.mergeMethods) {
          const { forge, heads } = yield* forgeOf(subject)
          const { headSha, number } = yield* forge.create(request)
          heads.set("work", "e".repeat(40))
          assert.strictEqual(
            yield* kindOf(forge.merge(number, { expectedHead: headSha, method })),
            "remote_head_changed"
          )
          assert.strictEqual((yield* forge.get(number)).state, "open")
          yield* forge.merge(number, { expectedHead: "e".repeat(40), method })
          assert.strictEqual((yield* forge.get(number)).state, "merged")
          assert.strictEqual(heads.get("main"), "e".repeat(40))
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("what the forge does not merge is not_mergeable, and what is not there not_found", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        const { headSha, number } = yield* forge.create({ ...request, draft: true })
        const merge = forge.merge(number, { expectedHead: headSha, method: "merge" })
        assert.strictEqual(yield* kindOf(merge), "not_mergeable")
        assert.strictEqual(yield* kindOf(forge.get(99)), "not_found")
        assert.strictEqual(yield* kindOf(forge.merge(99, { expectedHead: headSha, method: "merge" })), "not_found")
        if (subject.notNow === undefined) return
        server.canned.push(subject.notNow)
        assert.strictEqual(yield* kindOf(merge), "unavailable")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive(
      "a token that is not taken, one that may not, and a limit are told apart, without naming the token",
      () =>
        Effect.gen(function* () {
          const stranger = yield* forgeOf(subject, { token: "another-token-9Wq2" })
          assert.strictEqual(yield* kindOf(stranger.forge.find(branches)), "unauthenticated")
          const { forge, server } = yield* forgeOf(subject)
          const cases: ReadonlyArray<readonly [Canned, string]> = [
            [{ status: 403, body: `{"message":"no ${token}"}` }, "forbidden"],
            [{ status: 429, headers: { "retry-after": "60" }, body: "Retry later\n" }, "rate_limited"],
            [
              { status: 403, headers: { "x-ratelimit-remaining": "0" }, body: '{"message":"API rate"}' },
              "rate_limited"
            ],
            [{ status: 403, headers: { "retry-after": "9" }, body: '{"message":"secondary"}' }, "rate_limited"],
            [{ status: 503, body: "<html>" }, "unavailable"],
            [{ status: 200, body: "<html>" }, "unavailable"],
            [{ status: 200, body: '{"some":"thing"}' }, "unavailable"],
            [{ status: 200, body: `"${"x".repeat(1024 * 1024)}"` }, "unavailable"],
            [{ status: 301, headers: { location: "http://127.0.0.1:1/stolen" } }, "rejected"]
          ]
          for (const [canned, expected] of cases) {
            server.canned.push(canned)
            const error = yield* Effect.flip(forge.find(branches))
            assert.strictEqual(error.kind, expected, JSON.stringify(canned).slice(0, 100))
            assert.notInclude(error.message, token)
          }
          assert.strictEqual(server.seen.length, cases.length)
        }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a repository that was renamed is followed on the same forge, and never to another host", () =>
      Effect.gen(function* () {
        const { forge, heads, server } = yield* forgeOf(subject)
        server.moved = true
        assert.isUndefined(yield* forge.find(branches))
        const { headSha, number } = yield* forge.create(request)
        assert.deepStrictEqual((yield* forge.find(branches))?.number, number)
        yield* forge.merge(number, { expectedHead: headSha, method: "merge" })
        assert.strictEqual((yield* forge.get(number)).state, "merged")
        assert.strictEqual(heads.get("main"), headSha)
        const asked = server.seen.length
        for (const location of ["http://127.0.0.1:1/api/stolen", "//127.0.0.1:1/x", "/login", "ftp://x/", "http://["]) {
          for (const status of [301, 302, 307, 308]) {
            server.moved = false
            server.canned.push({ status, headers: { location } })
            const error = yield* Effect.flip(forge.find(branches))
            assert.strictEqual(error.kind, "rejected", location)
            assert.include(error.message, String(status))
          }
        }
        assert.strictEqual(server.seen.length, asked + 20)
        for (let round = 0; round < 9; round++) {
          server.canned.push({ status: 302, headers: { location: server.seen.at(-1)?.path ?? "" } })
        }
        assert.strictEqual(yield* kindOf(forge.find(branches)), "rejected")
        assert.strictEqual(server.seen.length, asked + 26)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("one that exists under the new owner of a repository is found there", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        if (subject.forge.kind !== "github") return
        const message = "A pull request already exists for new-owner:work."
        const errors = [{ resource: "PullRequest", code: "custom", message }]
        server.canned.push({ status: 422, body: JSON.stringify({ message: "Validation Failed", errors }) })
        assert.strictEqual(yield* kindOf(forge.create(request)), "exists")
        yield* forge.find(branches)
        assert.include(server.seen.at(-1)?.path ?? "", "head=new-owner%3Awork")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a refusal tells its status, its fields and their codes, bounded and without the token", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        const json = (status: number, body: unknown): Canned => ({ status, body: JSON.stringify(body) })
        const cases: ReadonlyArray<readonly [Canned, string]> = [
          [
            json(422, {
              message: "Validation Failed",
              errors: [
                { resource: "PullRequest", field: "base", code: "invalid" },
                { resource: "PullRequest", code: "custom", message: "No commits between main and work" }
              ]
            }),
            "HTTP 422: Validation Failed; PullRequest.base: invalid; PullRequest: No commits between main and work"
          ],
          [
            json(422, { errors: [{ field: "title", code: "too_long", message: "is too long" }] }),
            "title: too_long: is too long"
          ],
          [json(422, { message: { base: ["does not exist", "is locked"] } }), "base does not exist; base is locked"],
          [json(422, { message: { rules: { title: ["is reserved"] } } }), "rules title is reserved"],
          [json(400, { error: "target_branch is missing, title is empty" }), "HTTP 400: target_branch is missing"],
          [json(409, { message: ["Conflict of everything"] }), "Conflict of everything"],
          [json(422, { errors: null, message: "[]: Title is required" }), "[]: Title is required"],
          [{ status: 413, headers: { "content-type": "text/plain" }, body: "too much\n" }, "HTTP 413: too much"],
          [{ status: 451, body: "<html>" }, "HTTP 451, without a word"]
        ]
        for (const [canned, told] of cases) {
          server.canned.push(canned)
          const error = yield* Effect.flip(forge.get(1))
          assert.strictEqual(error.kind, "rejected")
          assert.include(error.message, told)
        }
        server.canned.push(json(422, { message: `you sent ${token} and ghp_${"a".repeat(36)} ${"x".repeat(5_000)}` }))
        const { message } = yield* Effect.flip(forge.get(1))
        assert.include(message, "you sent *** and *** x")
        assert.isBelow(message.length, 1_200)
        server.canned.push(
          json(403, { error: "insufficient_scope", error_description: "Higher privileges are needed", scope: "api" })
        )
        const { message: scope } = yield* Effect.flip(forge.get(1))
        assert.include(scope, "insufficient_scope; Higher privileges are needed; scope api")
        for (const status of [408, 425, 429, 500, 503]) {
          server.canned.push({ status })
          assert.include(["unavailable", "rate_limited"], yield* kindOf(forge.get(1)))
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a private address is asked only where the operator allows it", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        assert.strictEqual(yield* kindOf(forge.find(branches)), "rejected")
        assert.deepStrictEqual(server.seen, [])
      }).pipe(Effect.provide(Outbound.layerWith({ allowPrivateHosts: [] })))
    )
  })
}
