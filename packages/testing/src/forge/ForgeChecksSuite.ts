import { assert, describe, it } from "@effect/vitest"
import type { ForgeView, RemoteCheck, ViewMemory } from "@reins/machine/forge/ForgeView"
import { Effect } from "effect"
import type { ForgeServer } from "./ForgeServer.js"
import type { HeldCheck } from "./ForgeStanding.js"
import { allowed, type ForgeSubject, forgeOf, request } from "./ForgeSuite.js"

const opened = (subject: ForgeSubject) =>
  Effect.gen(function* () {
    const given = yield* forgeOf(subject)
    const { headSha, number } = yield* given.forge.create(request)
    const view = (memory: ViewMemory = {}) => given.forge.view(number, memory)
    const build = (state: HeldCheck["state"], more: Partial<HeldCheck> = {}) =>
      given.server.check({ head: headSha, name: "build", state, ...more })
    return { ...given, build, headSha, view }
  })

const checksIn = ({ checks }: ForgeView): ReadonlyArray<RemoteCheck> =>
  checks.state === "read" ? checks.value : assert.fail("the checks were not read")

const statesIn = (view: ForgeView) =>
  checksIn(view)
    .map(({ name, state }) => `${name} ${state}`)
    .sort()

const other = { id: 900, slug: "other-ci" }

/** Two checks with one name for people, of which one has failed and a later one has passed. */
const twins: Readonly<Record<string, ReadonlyArray<readonly [what: string, later: Partial<HeldCheck>]>>> = {
  github: [
    ["another workflow", { workflow: 2 }],
    ["another event", { event: "push" }],
    ["another app", { app: other }],
    ["a status in the place of a run", { system: "status" }],
    ["a name with one more space", { name: "build " }],
    ["a name with a character that nobody sees", { name: "build\u202e" }]
  ],
  gitlab: [
    ["a pipeline of another source", { event: "push" }],
    ["a pipeline by a schedule", { event: "schedule" }],
    ["a name with one more space", { name: "build " }],
    ["a name with a character that nobody sees", { name: "build\u0007" }],
    ["a name in capitals", { name: "BUILD" }]
  ],
  gitea: [
    ["a name with one more space", { name: "build " }],
    ["a name with a character that nobody sees", { name: "build\u2066" }],
    ["a name in capitals", { name: "BUILD" }],
    ["a name of another event", { name: "build (push)" }],
    ["a name of another alphabet", { name: "buіld" }]
  ]
}

/** A run again of the same check. */
const again: Readonly<Record<string, ReadonlyArray<readonly [what: string, later: Partial<HeldCheck>]>>> = {
  github: [
    ["in the same suite", {}],
    ["in another suite of the same workflow and event", { suite: 12 }]
  ],
  gitlab: [
    ["in the same pipeline", {}],
    ["in a later pipeline of the same source", { suite: 99_999 }]
  ],
  gitea: [["of the same context", {}]]
}

/** The extra read that tells the runs of a forge apart, by a part of its path. */
const extra: Readonly<Record<string, string>> = { github: "/actions/runs", gitlab: "/pipelines" }

/** The promises of `Forge.view` about which check is which, for one kind of forge. */
export const forgeChecksSuite = (subject: ForgeSubject): void => {
  const { kind } = subject.forge
  const asked = (server: ForgeServer, part: string) =>
    server.seen.splice(0).filter(({ path }) => path.includes(part)).length

  describe(`checks of ${kind}`, () => {
    for (const [what, later] of twins[kind] ?? [])
      it.scopedLive(`a failed check is not hidden by a later one that has passed: ${what}`, () =>
        Effect.gen(function* () {
          const { build, view } = yield* opened(subject)
          build("failed")
          build("passed", later)
          const found = checksIn(yield* view())
          assert.sameMembers(
            found.map(({ state }) => state),
            ["failing", "passing"]
          )
          const [failed, passed] = found.toSorted((one, two) => (one.state < two.state ? -1 : 1))
          assert.strictEqual(failed?.identity.context, "build")
          assert.strictEqual(passed?.identity.context, later.name ?? "build")
          for (const { name } of found) assert.notMatch(name, /\p{Cc}|[\u202e\u2066]/u)
        }).pipe(Effect.provide(allowed))
      )

    for (const [what, later] of again[kind] ?? [])
      it.scopedLive(`a run again takes the place of the one before it: ${what}`, () =>
        Effect.gen(function* () {
          const { build, view } = yield* opened(subject)
          build("failed")
          const first = yield* view()
          build("passed", later)
          const second = yield* view(first.memory)
          assert.deepStrictEqual(statesIn(second), ["build passing"])
          assert.strictEqual(checksIn(second)[0]?.key, checksIn(first)[0]?.key)
        }).pipe(Effect.provide(allowed))
      )

    it.scopedLive("a check tells its app where the forge does, and each has a key of its own", () =>
      Effect.gen(function* () {
        const { build, view } = yield* opened(subject)
        build("passed")
        build("passed", { app: other, name: "scan" })
        build("passed", { app: other, name: "status", system: "status" })
        const found = checksIn(yield* view())
        const apps = Object.fromEntries(found.map(({ identity, name }) => [name, identity.app]))
        const none = { build: null, scan: null, status: null }
        assert.deepStrictEqual(apps, kind === "github" ? { build: 15_368, scan: 900, status: 900 } : none)
        assert.strictEqual(new Set(found.map(({ key }) => key)).size, 3)
      }).pipe(Effect.provide(allowed))
    )

    const part = extra[kind]
    if (part !== undefined)
      it.scopedLive("two suites both count where the forge does not tell them apart, which is asked once an hour", () =>
        Effect.gen(function* () {
          const { build, server, view } = yield* opened(subject)
          server.odd.forbidden = part
          const { suite } = build("failed")
          build("passed", { suite: 99_999 })
          const first = yield* view()
          assert.deepStrictEqual(statesIn(first), ["build failing", "build passing"])
          assert.isAbove(asked(server, part), 0)
          const second = yield* view(first.memory)
          assert.strictEqual(second.checks.state, "unchanged")
          build("passed", { suite })
          const third = yield* view(second.memory)
          assert.deepStrictEqual(statesIn(third), ["build passing", "build passing"])
          assert.strictEqual(asked(server, part), 0)

          // The hour is over, and the token may read it by now.
          server.odd.forbidden = undefined
          const { refused = {} } = third.memory
          const over = Object.fromEntries(Object.keys(refused).map((what) => [what, 0]))
          assert.isNotEmpty(Object.keys(over))
          assert.deepStrictEqual(statesIn(yield* view({ ...third.memory, refused: over })), ["build passing"])
        }).pipe(Effect.provide(allowed))
      )

    it.scopedLive("words that the forge may say one day are neither a success nor an end", () =>
      Effect.gen(function* () {
        const { build, view } = yield* opened(subject)
        build("passed")
        build("passed", { name: "later", word: "word_of_tomorrow" })
        build("passed", { name: "object", word: "constructor" })
        assert.deepStrictEqual(statesIn(yield* view()), ["build passing", "later failing", "object failing"])
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a memory of another form is none, so that everything is read anew", () =>
      Effect.gen(function* () {
        const { build, view } = yield* opened(subject)
        build("passed")
        const { memory } = yield* view()
        assert.strictEqual((yield* view(memory)).checks.state, "unchanged")
        const { form: _none, ...before } = memory
        for (const each of [before, { ...memory, form: 1 }])
          for (const { state } of [(yield* view(each)).checks, (yield* view(each)).request])
            assert.strictEqual(state, "read")
      }).pipe(Effect.provide(allowed))
    )
  })
}
