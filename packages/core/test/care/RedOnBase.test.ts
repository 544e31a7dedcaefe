import { assert, layer } from "@effect/vitest"
import type { CareInput } from "@reins/core/projects/CarePolicy"
import type { ForgeCi } from "@reins/testing/forge/ForgeCi"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { installation, opened, write } from "./Cared.js"
import { lookFor } from "./Told.js"

/** This one is red until a file is there, on every branch. */
const broken = 'test -f mended.txt || { echo "mended.txt is missing"; exit 3; }'
/** This one is red where a file says ONE, as the agent writes it first. */
const ours = '! grep -q ONE a.txt || { echo "a.txt says ONE"; exit 3; }'

/** A cared-for merge request on a forge whose CI has ended on `main`, where the check `broken` is red. */
const redOnBase = (kind: KnownForge, care: CareInput, commands: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const cis: Array<ForgeCi> = []
    const run = Effect.promise(async () => {
      for (const ci of cis) ci.pushed()
      for (const ci of cis) await ci.idle()
    })
    const given = yield* opened(kind, { rerun_first: false, ...care }, false, (origin) =>
      Effect.gen(function* () {
        for (const [name, command] of Object.entries(commands)) cis.push(yield* origin.runCi(command, name))
        origin.commitOn("main", "other.txt", "other\n")
        yield* run
      }).pipe(Effect.orDie)
    )
    yield* run
    const states = given.forge.checks.map(({ name, state }) => `${name} ${state}`)
    for (const name of Object.keys(commands)) assert.include(states, `${name} failed`)
    /** Looks until it is so. */
    const until = <A, E, R>(get: Effect.Effect<A, E, R>, isSo: (value: A) => boolean) => lookFor(given, get, isSo)
    const checks = Effect.suspend(() =>
      Effect.map(given.looks.checks(given.principal, given.id, { head_sha: given.head() }), ({ items }) =>
        Object.fromEntries(items.map(({ name, on_base, state }) => [name, `${state} ${on_base}`]))
      )
    )
    return { ...given, checks, run, until }
  })

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`red on the base on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`a check that is red on the base of ${kind} too costs no turn, and is told`, () =>
        Effect.gen(function* () {
          const given = yield* redOnBase(kind, { checks: "fix", reviews: "fix" }, { broken })
          const { cares, forge, get, head, id, model, origin, principal, run, until } = given
          const red = yield* until(get, ({ standing }) => standing?.checks.state === "failing")
          assert.deepStrictEqual(
            red.standing?.waiting_for.map(({ kind, names }) => [kind, ...names]),
            [
              ["checks_failing", "broken"],
              ["checks_red_on_base", "broken"]
            ]
          )
          assert.deepStrictEqual(yield* given.checks, { broken: "failing true" })
          const seen = red.observed_at
          yield* until(get, ({ observed_at }) => observed_at !== seen)
          assert.deepInclude(yield* given.care, { state: "watching", turns: 0 })
          assert.deepStrictEqual(yield* given.attentions, [])

          // Nothing else is cared for, so nothing is waited for in silence.
          yield* cares.start(principal, id, { checks: "fix" })
          const handed = yield* until(given.care, ({ state }) => state === "handed_over")
          assert.deepInclude(handed, { reason: "red_on_base", turns: 0 })
          assert.lengthOf(yield* given.told("merge_request.care_handed_over"), 1)
          const comments = Effect.sync(() => forge.comments.filter(({ body }) => body.includes("on the base branch")))
          assert.lengthOf(yield* until(comments, ({ length }) => length > 0), 1)
          assert.deepStrictEqual(yield* given.attentions, [])

          // The base is mended, so a check that is still red is one of this change.
          model.onCare = () => [write("mended.txt", "yes\n"), { say: "Mended." }]
          origin.commitOn("main", "mended.txt", "yes\n")
          yield* run
          yield* cares.start(principal, id, { checks: "fix", reviews: "fix", rerun_first: false })
          const [done] = yield* until(given.attentions, ([attention]) => attention?.state === "done")
          assert.deepInclude(done, { commit: head(), reason: null })
        })
      )

      it.scoped(`another red check on ${kind} becomes one turn that names that one alone`, () =>
        Effect.gen(function* () {
          const given = yield* redOnBase(kind, { checks: "fix", reviews: "fix" }, { broken, ours })
          const { attentions, forge, head, model, until } = given
          const prompts = new Set<string>()
          model.onCare = (prompt) => {
            prompts.add(prompt)
            return [write("a.txt", "TWO\n"), { say: "It says TWO." }]
          }
          const before = head()
          const [done] = yield* until(attentions, ([attention]) => attention?.state === "done")
          assert.deepInclude(done, { head_sha: before, commit: head(), reason: null })
          const prompt = [...prompts].join()
          assert.include(prompt, 'Failed check: "ours"')
          assert.include(prompt, "a.txt says ONE")
          assert.notInclude(prompt, '"broken"')
          assert.notInclude(prompt, "mended.txt is missing")

          // On the new head the broken one is red again, and costs nothing.
          yield* given.run
          yield* until(
            given.checks,
            (checks) => checks["broken"] === "failing true" && checks["ours"] === "passing null"
          )
          const seen = (yield* given.get).observed_at
          yield* until(given.get, ({ observed_at }) => observed_at !== seen)
          assert.lengthOf(yield* attentions, 1)
          assert.deepInclude(yield* given.care, { state: "watching", turns: 1 })
          assert.isTrue(forge.checks.some(({ name, state }) => name === "broken" && state === "failed"))
        })
      )
    }
  })
}
