import { assert } from "@effect/vitest"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import { Conditions } from "@reins/core/requests/conditions/Conditions"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import type { Canned } from "@reins/testing/forge/ForgeServer"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn, rows as runs } from "@reins/testing/Volume"
import { Effect } from "effect"
import { flowsOn, opened, write } from "./Cared.js"
import { handsOver, lookFor, looksPass, memoryOf, type Opened, remember } from "./Told.js"

const fix = { checks: "fix", rerun_first: false } as const

/** A part of the path that shows each part. */
const paths: Readonly<Record<KnownForge, Readonly<Record<"checks" | "reviews" | "threads", string>>>> = {
  github: { checks: "/commits/", reviews: "/reviews", threads: "/comments" },
  gitlab: { checks: "/commits/", reviews: "/reviewers", threads: "/discussions" },
  gitea: { checks: "/commits/", reviews: "/reviews", threads: "/comments" }
}

/** The path that tells who may write. */
const rights: Readonly<Record<KnownForge, string>> = {
  github: "/permission",
  gitlab: "/members/",
  gitea: "/permission"
}

const red = ({ forge, head }: Opened, name = "test") => forge.check({ head: head(), name, state: "failed", log: "red" })

const mends = ({ model }: Opened) => {
  model.onCare = () => [write("a.txt", "MENDED\n"), { say: "Mended." }]
}

const rows = ({ id, looks, principal }: Opened) =>
  Effect.map(
    Effect.all([looks.checks(principal, id, {}), looks.reviews(principal, id, {}), looks.threads(principal, id, {})]),
    (parts) => parts.map(({ items }) => items)
  )

/** Asserts that the next look comes within 30 seconds, as it does while a check runs. */
const looksAgainSoon = ({ get }: Opened) =>
  Effect.map(get, ({ next_look_at }) => assert.isAtMost(Date.parse(next_look_at ?? "never") - Date.now(), 30_000))

/** The ways in which a forge does not show a part. The matrix has both. */
const ways = runs === "first" ? (["forbidden"] as const) : (["forbidden", "failing"] as const)

/** Begins the care of what was read before, while it cannot be read. Nothing may follow until it can. */
const beginsNothing = (given: Opened, care: CareInput, hidden: string) =>
  Effect.gen(function* () {
    const { attentions, cares, forge, id, principal } = given
    mends(given)
    const known = yield* rows(given)
    for (const how of ways) {
      forge.odd[how] = hidden
      // A look that is under way may have read it.
      yield* looksPass(given, 1)
      yield* cares.start(principal, id, care)
      yield* looksPass(given, 3)
      yield* looksAgainSoon(given)
      assert.deepStrictEqual(yield* attentions, [])
      assert.deepInclude(yield* given.care, { state: "watching", turns: 0 })
      assert.deepStrictEqual(yield* rows(given), known)
      forge.odd[how] = undefined
    }
    yield* lookFor(given, attentions, ([attention]) => attention?.state === "done")
    assert.deepInclude(yield* given.care, { turns: 1 })
  })

const away = { location: "http://127.0.0.1:1/api/v3/repos/acme/shop/pulls/1" }

type Refusal = readonly [string, Canned, KnownForge, "auth_required" | "branch_gone"]

/** The first two of them are rows of `npm test`. */
const refusals: ReadonlyArray<Refusal> = [
  ["refuses the token", { status: 401, body: "{}" }, "github", "auth_required"],
  ["has lost the request", { status: 404, body: "{}" }, "gitea", "branch_gone"],
  ["lets the token do nothing", { status: 403, body: "{}" }, "gitlab", "auth_required"],
  ["has removed the request", { status: 410, body: "{}" }, "github", "branch_gone"],
  ["redirects elsewhere", { status: 301, headers: away }, "github", "branch_gone"]
]

const titleOf = ([what]: Refusal) =>
  `a forge that ${what} for ever has a person asked, and one that does so once has not`

/** Asserts what the title says. */
const refusesForEver = ([, canned, kind, reason]: Refusal) =>
  Effect.gen(function* () {
    const given = yield* opened(kind, fix)
    yield* (yield* Conditions).set(given.principal, given.id, { checks: "all" })
    yield* lookFor(given, given.get, ({ standing }) => standing !== null)
    given.forge.odd.always = canned
    yield* looksPass(given, 1)
    given.forge.odd.always = undefined
    yield* looksPass(given, 1)
    assert.notProperty(yield* memoryOf(given.id), "refused")
    assert.deepInclude((yield* given.get).conditions ?? {}, { state: "waiting" })
    given.forge.odd.always = canned
    yield* lasts(given)
    yield* handsOver(given, reason, { comments: 0 })
    assert.deepInclude((yield* given.get).conditions ?? {}, { state: "given_up", reason })
  })

for (const database of forgeDatabases) {
  const { name } = database
  flowsOn(database)(`what cannot be read on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`checks that ${kind} does not show now begin nothing`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind)
          red(given)
          yield* lookFor(given, given.get, ({ standing }) => standing?.checks.state === "failing")
          yield* beginsNothing(given, fix, paths[kind].checks)
        })
      )

      variants(() => {
        it.scoped(`comments that ${kind} does not show now begin nothing`, () =>
          Effect.gen(function* () {
            const given = yield* opened(kind)
            given.forge.comment({ author: "bob", body: "Rename it." })
            yield* lookFor(given, rows(given), ([, , threads]) => threads?.length === 1)
            yield* beginsNothing(given, { reviews: "fix" }, paths[kind].threads)
          })
        )
      })

      it.scoped(`a base that ${kind} does not show for a moment is waited for, and then is no excuse`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind)
          const { attentions, cares, forge, get, id, origin, principal } = given
          mends(given)
          red(given)
          forge.check({ head: origin.headOf("main") ?? "", name: "test", state: "failed" })
          forge.odd.failing = "/branches/"
          yield* cares.start(principal, id, fix)
          yield* lookFor(given, get, ({ standing }) => standing?.checks.state === "failing")
          yield* looksPass(given, 2)
          assert.deepStrictEqual(yield* attentions, [])
          assert.deepInclude(yield* given.care, { state: "watching" })
          yield* looksAgainSoon(given)
          const waits = Effect.map(get, ({ standing }) => standing?.waiting_for.map(({ kind }) => kind) ?? [])
          assert.notInclude(yield* waits, "checks_red_on_base")
          assert.include(yield* waits, "base_checks_unreadable")

          // A branch without a commit is one that cannot be read.
          forge.odd.failing = undefined
          forge.odd.headless = true
          yield* looksPass(given, 2)
          assert.deepStrictEqual(yield* attentions, [])
          assert.deepInclude(yield* given.care, { state: "watching" })

          forge.odd.headless = false
          assert.deepInclude(yield* handsOver(given, "red_on_base"), { turns: 0 })
          assert.notInclude(yield* waits, "base_checks_unreadable")
          assert.deepStrictEqual(yield* attentions, [])

          forge.odd.failing = "/branches/"
          red(given, "lint")
          yield* cares.start(principal, id, { ...fix, reviews: "fix" })
          yield* looksPass(given, 2)
          assert.deepStrictEqual(yield* attentions, [])
          yield* remember(id, (memory) => ({
            ...memory,
            baseUnreadSince: Number(memory["baseUnreadSince"]) - 900_000
          }))
          yield* lookFor(given, attentions, ([attention]) => attention?.state === "done")
        })
      )

      it.scoped(`nothing of ${kind} that cannot be read is merged by conditions`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind)
          const { forge, get, head, id, principal } = given
          forge.check({ head: head(), name: "test", state: "passed" })
          forge.review({ author: "bob", state: "approved" })
          yield* lookFor(given, get, ({ standing }) => standing?.checks.state === "passing")
          // A look that is under way has read everything, so it may merge.
          yield* looksPass(given, 1)
          for (const hidden of Object.values(paths[kind])) {
            forge.odd.forbidden = hidden
            yield* (yield* Conditions).set(principal, id, { checks: "all" })
            yield* looksPass(given, 2)
            assert.deepInclude(yield* get, { state: "open" })
            const told = (yield* get).conditions?.waiting_for.map((each) => each.kind) ?? []
            assert.isTrue(
              told.some((each) => each.endsWith("_unreadable")),
              told.join()
            )
            yield* (yield* Conditions).remove(principal, id)
            forge.odd.forbidden = undefined
          }
          forge.odd.computing = true
          yield* looksPass(given, 1)
          yield* (yield* Conditions).set(principal, id, { checks: "all" })
          yield* looksPass(given, 1)
          assert.deepInclude(yield* get, { state: "open" })
          assert.isFalse(forge.seen.some(({ path }) => path.endsWith("/merge")))
          forge.odd.computing = false
          yield* lookFor({ ring: Effect.ignore(given.ring) }, get, ({ state }) => state === "merged")
        })
      )

      variants(() => {
        it.scoped(`a right that ${kind} does not tell for a moment is asked for again`, () =>
          Effect.gen(function* () {
            const given = yield* opened(kind, { reviews: "fix" })
            mends(given)
            yield* lookFor(given, given.get, ({ standing }) => standing !== null)
            given.forge.odd.failing = rights[kind]
            given.forge.comment({ author: "bob", body: "Rename it." })
            yield* looksPass(given, 3)
            assert.deepStrictEqual(yield* given.attentions, [])
            given.forge.odd.failing = undefined
            yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "done")
          })
        )
      })

      it.scoped(`a request of ${kind} without a commit of its branch is told in the end`, () =>
        Effect.gen(function* () {
          const given = yield* opened(kind, fix)
          yield* lookFor(given, given.get, ({ standing }) => standing !== null)
          given.origin.git("update-ref", "-d", `refs/heads/${given.branch}`)
          yield* lasts(given)
          yield* handsOver(given, "branch_gone")
        })
      )
    }

    for (const refusal of refusals.slice(0, 2)) it.scoped(titleOf(refusal), () => refusesForEver(refusal))

    it.scoped("conditions without care are given up, once, when the forge refuses for long", () =>
      Effect.gen(function* () {
        const given = yield* opened("github")
        yield* (yield* Conditions).set(given.principal, given.id, { checks: "all" })
        yield* lookFor(given, given.get, ({ standing }) => standing !== null)
        given.forge.odd.always = { status: 401, body: "{}" }
        yield* refuses(given)
        yield* lookFor(given, given.get, ({ conditions }) => conditions?.state === "given_up")
        yield* looksPass(given, 2)
        assert.lengthOf(yield* given.told("merge_request.conditions_given_up"), 1)
        const { conditions } = yield* given.get
        assert.strictEqual(conditions?.reason, "auth_required")
        assert.include(conditions?.reason_message, "Mend the connection")
      })
    )

    it.scoped("a forge that is away is told, and looked at until it is back", () =>
      Effect.gen(function* () {
        const given = yield* opened("gitea", fix)
        mends(given)
        yield* lookFor(given, given.get, ({ standing }) => standing !== null)
        // A look that is under way would read a part of the request.
        yield* looksPass(given, 1)
        given.forge.odd.always = { status: 503 }
        yield* looksPass(given, 1)
        assert.deepStrictEqual((yield* given.get).standing?.waiting_for, [])
        yield* lookFor(given, given.get, ({ standing }) => standing?.waiting_for[0]?.kind === "forge_unreadable")
        assert.notProperty(yield* memoryOf(given.id), "refused")
        given.forge.odd.always = undefined
        red(given)
        yield* lookFor(given, given.attentions, ([attention]) => attention?.state === "done")
      })
    )

    variants(() => {
      for (const kind of forgesOn(name).filter((each) => each !== "gitlab"))
        it.scoped(`reviews that ${kind} does not show now begin nothing`, () =>
          Effect.gen(function* () {
            const given = yield* opened(kind)
            given.forge.review({ author: "bob", state: "changes_requested", body: "Rename it." })
            yield* lookFor(given, rows(given), ([, reviews]) => reviews?.length === 1)
            yield* beginsNothing(given, { reviews: "fix" }, paths[kind].reviews)
          })
        )

      for (const refusal of refusals.slice(2)) it.scoped(titleOf(refusal), () => refusesForEver(refusal))
    })
  })
}

/** Looks again and again while the forge refuses, and has half an hour pass. */
const refuses = (given: Opened) =>
  Effect.gen(function* () {
    yield* looksPass(given, 4)
    yield* remember(given.id, (memory) => {
      const { count } = Object(memory["refused"])
      assert.isAtLeast(count, 4)
      return { ...memory, refused: { count, since: new Date(Date.now() - 31 * 60_000).toISOString() } }
    })
  })

/** The same with care, which goes on until then. */
const lasts = (given: Opened) =>
  Effect.zipRight(
    refuses(given),
    Effect.map(given.care, (care) => assert.deepInclude(care, { state: "watching" }))
  )
