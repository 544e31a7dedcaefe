import { assert, describe, it } from "@effect/vitest"
import type { ForgeView, RemoteCheck } from "@reins/machine/forge/ForgeView"
import { Effect } from "effect"
import { allowed, type ForgeSubject, forgeOf, request } from "./ForgeSuite.js"

/** A server with an open merge request of the branch `work`. */
const opened = (subject: ForgeSubject) =>
  Effect.gen(function* () {
    const given = yield* forgeOf(subject)
    const { headSha, number } = yield* given.forge.create(request)
    const seen = () => given.server.seen.splice(0).map(({ path }) => path)
    seen()
    return { ...given, headSha, number, seen }
  })

const stateOf = (checks: ReadonlyArray<RemoteCheck>) =>
  Object.fromEntries(checks.map(({ name, state }) => [name, state] as const))

/** The promises of `Forge.view`, for one kind of forge. */
export const forgeViewSuite = (subject: ForgeSubject): void => {
  const { kind } = subject.forge
  describe(`a view of ${kind}`, () => {
    it.scopedLive("has the newest run of each check of the head alone", () =>
      Effect.gen(function* () {
        const { forge, headSha, number, server } = yield* opened(subject)
        const before = yield* forge.view(number, {})
        assert.deepInclude(before.request, { state: "read", complete: true })
        assert.deepStrictEqual(before.checks, { state: "read", value: [], complete: true, odd: [] })
        for (const state of ["failed", "passed"] as const) server.check({ head: headSha, name: "build", state })
        server.check({ head: headSha, name: "test", state: "pending" })
        server.check({ head: headSha, name: "lint", state: "cancelled" })
        server.check({ head: headSha, name: "docs", state: "skipped" })
        server.check({ head: headSha, name: "deploy", state: "failed", system: "status" })
        server.check({ head: "9".repeat(40), name: "old", state: "failed" })
        const { checks } = yield* forge.view(number, {})
        assert.strictEqual(checks.state, "read")
        assert.deepStrictEqual(stateOf(checks.state === "read" ? checks.value : []), {
          build: "passing",
          test: "pending",
          lint: kind === "gitea" ? "failing" : "cancelled",
          docs: "skipped",
          deploy: "failing"
        })
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("has all pages, and says when there are more checks than it reads", () =>
      Effect.gen(function* () {
        const { forge, headSha, number, server } = yield* opened(subject)
        for (let index = 0; index < 250; index++)
          server.check({ head: headSha, name: `check-${index}`, state: "passed" })
        const some = yield* forge.view(number, {})
        assert.isTrue(some.checks.state === "read" && some.checks.complete && some.checks.value.length === 250)
        for (let index = 250; index < 301; index++)
          server.check({ head: headSha, name: `check-${index}`, state: "passed" })
        const many = yield* forge.view(number, some.memory)
        assert.isTrue(many.checks.state === "read" && !many.checks.complete && many.checks.value.length === 300)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("has 1,000 comments, and says when there are more", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const first = server.comment({ author: "bob", body: "first", place: { path: "a.txt", line: 1, side: "new" } })
        const say = () => {
          for (let index = 0; index < 499; index++) {
            server.comment({ author: "bob", body: "more", place: first.place, replyTo: first.id })
            server.comment({ author: "bob", body: "talk" })
          }
        }
        say()
        const threads = Effect.map(forge.view(number, {}), (view) => {
          if (view.threads.state !== "read") return assert.fail("the threads were not read")
          const { complete, value } = view.threads
          return { complete, comments: value.flatMap(({ comments }) => comments).length }
        })
        assert.deepStrictEqual(yield* threads, { complete: true, comments: 999 })
        say()
        const many = yield* threads
        assert.isFalse(many.complete)
        assert.isAtLeast(many.comments, 1_000)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("reviews have their author, their state and the commit where the forge tells it", () =>
      Effect.gen(function* () {
        const { forge, headSha, number, server } = yield* opened(subject)
        server.review({ author: "bob", state: "approved" })
        server.review({ author: "cleo", state: "changes_requested", body: "Not yet." })
        const { reviews } = yield* forge.view(number, {})
        assert.strictEqual(reviews.state, "read")
        const found = (reviews.state === "read" ? reviews.value : []).filter(({ state }) => state !== "commented")
        assert.deepStrictEqual(
          found.map(({ author, headSha, state }) => [author.login, state, headSha]),
          [
            ["bob", "approved", kind === "gitlab" ? undefined : headSha],
            ["cleo", "changes_requested", kind === "gitlab" ? undefined : headSha]
          ]
        )
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("threads have their place, their comments and whether they are resolved", () =>
      Effect.gen(function* () {
        const { forge, headSha, number, server } = yield* opened(subject)
        const place = { path: "sum.js", line: 7, side: "new" } as const
        const root = server.comment({ author: "bob", body: "Why 7?", place })
        server.comment({ author: "cleo", body: "Indeed.", place, replyTo: root.id })
        server.comment({ author: "bob", body: "Gone?", place: { path: "old.js", line: 3, side: "old" } })
        server.comment({ author: "helper", body: "I am a program.", isBot: true })
        const first = yield* forge.view(number, {})
        const threads = first.threads.state === "read" ? first.threads.value : []
        assert.deepInclude(threads[0], { path: "sum.js", line: 7, side: "new", outdated: false, resolved: false })
        assert.deepStrictEqual(
          threads[0]?.comments.map(({ author, body }) => [author.login, body]),
          [
            ["bob", "Why 7?"],
            ["cleo", "Indeed."]
          ]
        )
        assert.deepInclude(threads[1], { path: "old.js", line: 3, side: "old" })
        assert.deepInclude(threads[2], { path: null, line: null, side: null, resolved: null })
        assert.strictEqual(threads[2]?.comments[0]?.author.isBot, kind !== "gitea")
        root.resolved = true
        const second = yield* forge.view(number, first.memory)
        assert.isTrue(second.threads.state === "read" && second.threads.value[0]?.resolved === true)
        assert.strictEqual(second.checks.state, "unchanged")
        assert.strictEqual(new Set(threads.map(({ forgeId }) => forgeId)).size, 3)
        assert.strictEqual(headSha, first.memory.head)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("reviews and threads of another merge request are not among them", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const other = server.add({ head: "theirs", base: "main" }).number
        const place = { path: "sum.js", line: 7, side: "new" } as const
        const root = server.comment({ author: "bob", body: "Why 7?", place })
        server.comment({ author: "cleo", body: "Indeed.", place, replyTo: root.id })
        server.comment({ author: "bob", body: "In the talk." })
        server.review({ author: "cleo", state: "changes_requested", body: "Not yet." })
        root.resolved = true
        const counts = ({
          reviews,
          threads
        }: { readonly [Part in "reviews" | "threads"]: { readonly state: string } }) =>
          [reviews, threads].map((part) =>
            "value" in part && Array.isArray(part.value) ? part.value.length : part.state
          )
        assert.deepStrictEqual(counts(yield* forge.view(number, {})), [0, 0])
        const [reviews, threads] = counts(yield* forge.view(other, {}))
        assert.isAbove(Number(reviews), 0)
        assert.strictEqual(threads, 2)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("costs few calls while nothing changes, and no body where the forge has ETags", () =>
      Effect.gen(function* () {
        const { forge, headSha, number, seen, server } = yield* opened(subject)
        server.check({ head: headSha, name: "build", state: "passed" })
        const first = yield* forge.view(number, {})
        const asked = seen()
        const second = yield* forge.view(number, first.memory)
        for (const part of [second.request, second.checks, second.reviews, second.threads])
          assert.deepStrictEqual(part, { state: "unchanged" })
        assert.deepStrictEqual(second.memory, first.memory)
        assert.sameMembers(seen(), asked)
        assert.isAtMost(asked.length, { github: 7, gitlab: 6, gitea: 4 }[kind] ?? 7)
        server.check({ head: headSha, name: "test", state: "failed" })
        const third = yield* forge.view(number, second.memory)
        assert.strictEqual(third.checks.state, "read")
        assert.strictEqual(third.reviews.state, "unchanged")
        assert.isTrue(yield* Effect.sync(() => structuredClone(third.memory) !== undefined))
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("has the checks of the base branch while one of the head is red, for few calls more", () =>
      Effect.gen(function* () {
        const { forge, headSha, heads, number, seen, server } = yield* opened(subject)
        const base = heads.get("main") ?? ""
        const inBase = (view: ForgeView) =>
          view.baseChecks?.state === "read" ? stateOf(view.baseChecks.value) : view.baseChecks?.state
        server.check({ head: base, name: "test", state: "failed" })
        server.check({ head: headSha, name: "test", state: "pending" })
        server.check({ head: headSha, name: "flaky", state: "failed", optional: true })
        const pending = yield* forge.view(number, {})
        if (kind === "gitlab") assert.isUndefined(inBase(pending))
        server.check({ head: headSha, name: "test", state: "failed" })
        const red = yield* forge.view(number, pending.memory)
        assert.deepStrictEqual(inBase(red), { test: "failing" })

        // Nothing of it comes twice.
        seen()
        server.statuses.splice(0)
        const same = yield* forge.view(number, red.memory)
        assert.strictEqual(inBase(same), "unchanged")
        assert.deepStrictEqual(same.memory, red.memory)
        if (subject.dialect.hasTags)
          assert.lengthOf(
            server.statuses.filter((status) => status !== 304),
            0
          )
        assert.isAtMost(seen().length, { github: 11, gitlab: 9, gitea: 6 }[kind] ?? 11)

        // A check that runs again, a branch that moves and another base are seen.
        server.check({ head: base, name: "test", state: "passed" })
        const green = yield* forge.view(number, same.memory)
        assert.deepStrictEqual(inBase(green), { test: "passing" })
        heads.set("main", "b".repeat(40))
        const moved = yield* forge.view(number, green.memory)
        assert.deepStrictEqual(inBase(moved), {})
        const [pull] = server.pulls
        if (pull !== undefined) pull.base = "develop"
        server.check({ head: heads.get("develop") ?? "", name: "lint", state: "failed" })
        const other = yield* forge.view(number, moved.memory)
        assert.deepStrictEqual(inBase(other), { lint: "failing" })

        // Checks of the head that are read anew are compared with all those of the base.
        server.check({ head: headSha, name: "lint", state: "failed" })
        const more = yield* forge.view(number, other.memory)
        assert.deepStrictEqual([more.checks.state, inBase(more)], ["read", { lint: "failing" }])

        // One that is not read is read whole the next time, and green heads ask for none.
        server.odd.forbidden = "/branches/"
        const refused = yield* forge.view(number, more.memory)
        assert.deepInclude({ ...refused.baseChecks }, { state: "unread", kind: "forbidden" })
        server.odd.forbidden = undefined
        const again = yield* forge.view(number, refused.memory)
        assert.deepStrictEqual(inBase(again), { lint: "failing" })
        for (const name of ["test", "lint", "flaky"]) server.check({ head: headSha, name, state: "passed" })
        assert.isUndefined(inBase(yield* forge.view(number, again.memory)))
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a new head has checks of its own, and an old head on the forge is told as it is", () =>
      Effect.gen(function* () {
        const { forge, headSha, heads, number, server } = yield* opened(subject)
        server.check({ head: headSha, name: "build", state: "passed" })
        const first = yield* forge.view(number, {})
        heads.set("work", "e".repeat(40))
        server.odd.staleHead = headSha
        assert.strictEqual((yield* forge.view(number, first.memory)).request.state, "unchanged")
        server.odd.staleHead = undefined
        const second = yield* forge.view(number, first.memory)
        assert.isTrue(second.request.state === "read" && second.request.value.headSha === "e".repeat(40))
        assert.deepStrictEqual(second.checks, { state: "read", value: [], complete: true, odd: [] })
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a part that the forge refuses is unread, and the others are read", () =>
      Effect.gen(function* () {
        const { forge, headSha, number, server } = yield* opened(subject)
        server.check({ head: headSha, name: "build", state: "passed" })
        const whole = yield* forge.view(number, {})
        server.odd.forbidden = "/commits/"
        for (const memory of [{}, whole.memory]) {
          const { checks, reviews, threads } = yield* forge.view(number, memory)
          assert.deepInclude(checks, { state: "unread", kind: "forbidden" })
          assert.notStrictEqual(reviews.state, "unread")
          assert.notStrictEqual(threads.state, "unread")
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("one run that may not be read leaves the checks unread, although statuses are", () =>
      Effect.gen(function* () {
        if (kind !== "github") return
        const { forge, headSha, number, server } = yield* opened(subject)
        server.check({ head: headSha, name: "deploy", state: "passed", system: "status" })
        server.odd.forbidden = "/check-runs"
        assert.deepInclude((yield* forge.view(number, {})).checks, { state: "unread", kind: "forbidden" })
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("the jobs of a merged result count with those of the head", () =>
      Effect.gen(function* () {
        if (kind !== "gitlab") return
        const { forge, headSha, number, server } = yield* opened(subject)
        server.odd.mergedResult = "f".repeat(40)
        server.check({ head: "f".repeat(40), name: "build", state: "failed" })
        server.check({ head: headSha, name: "deploy", state: "passed" })
        server.check({ head: headSha, name: "flaky", state: "failed", optional: true })
        const { checks } = yield* forge.view(number, {})
        const found = checks.state === "read" ? checks.value : []
        assert.deepStrictEqual(stateOf(found), { build: "failing", deploy: "passing", flaky: "failing" })
        assert.deepStrictEqual(
          found.filter(({ optional }) => optional).map(({ name }) => name),
          ["flaky"]
        )
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("conflicts are told when the forge has computed them, and never before", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        const conflicts = Effect.map(forge.view(number, {}), (view) =>
          view.request.state === "read" ? view.request.value.conflicts : undefined
        )
        assert.strictEqual(yield* conflicts, "none")
        server.odd.computing = true
        assert.strictEqual(yield* conflicts, kind === "gitea" ? "suspected" : "unknown")
        server.odd.computing = false
        server.odd.conflicts = true
        assert.strictEqual(yield* conflicts, kind === "gitea" ? "suspected" : "conflicts")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a list that the forge closes hides no merge request whose number is known", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        server.odd.closedList = true
        assert.strictEqual((yield* Effect.flip(forge.find({ head: "work", base: "main" }))).kind, "forbidden")
        assert.strictEqual((yield* forge.view(number, {})).request.state, "read")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a token that is not taken, a pause and a budget are told", () =>
      Effect.gen(function* () {
        const { forge, number, server } = yield* opened(subject)
        server.odd.limit = { limit: 5_000, remaining: 12 }
        assert.deepInclude((yield* forge.view(number, {})).limit, { limit: 5_000, remaining: 12 })
        server.canned.push({ status: 429, headers: { "retry-after": "75" }, body: "slow down" })
        const pause = yield* Effect.flip(forge.view(number, {}))
        assert.deepInclude({ ...pause }, { kind: "rate_limited", retryAfterMs: 75_000 })
        server.canned.push({ status: 401, body: "{}" })
        assert.strictEqual((yield* Effect.flip(forge.view(number, {}))).kind, "unauthenticated")
        assert.strictEqual((yield* Effect.flip(forge.view(99, {}))).kind, "not_found")
      }).pipe(Effect.provide(allowed))
    )
  })
}
