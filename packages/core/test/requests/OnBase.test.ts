import { assert, layer } from "@effect/vitest"
import { Conditions } from "@reins/core/requests/conditions/Conditions"
import { installation } from "@reins/testing/changes/Fixture"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { watched } from "./Watched.js"

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`checks on the base on ${name}`, (it) => {
    for (const kind of forgesOn(name))
      it.scoped(`a red check on ${kind} tells whether it is red on the base too, and never guesses`, () =>
        Effect.gen(function* () {
          const given = yield* watched(kind)
          const { head, id, look, looks, origin, principal } = given
          const { forge } = origin
          const onBase = Effect.gen(function* () {
            const { standing } = yield* look
            const { items } = yield* looks.checks(principal, id, { head_sha: head })
            const told = standing?.waiting_for.find((each) => each.kind === "checks_red_on_base")?.names ?? []
            return [Object.fromEntries(items.map(({ name, on_base }) => [name, on_base])), [...told].sort()] as const
          })
          const base = () => origin.headOf("main") ?? ""
          for (const name of ["red", "green", "absent"]) forge.check({ head, name, state: "failed" })
          forge.check({ head, name: "fine", state: "passed" })
          forge.check({ head: base(), name: "red", state: "failed" })
          const running = forge.check({ head: base(), name: "green", state: "pending" })
          const unknown = { red: true, green: null, absent: null, fine: null }
          assert.deepStrictEqual(yield* onBase, [unknown, ["red"]])
          running.state = "passed"
          assert.deepStrictEqual(yield* onBase, [{ ...unknown, green: false }, ["red"]])
          const { version } = yield* look
          assert.strictEqual((yield* look).version, version)

          // A forge that fails for a moment changes nothing, whether the checks of the head are the same or read anew.
          forge.odd.failing = "/branches/"
          const before = forge.seen.length
          assert.deepStrictEqual(yield* onBase, [{ ...unknown, green: false }, ["red"]])
          const later = forge.check({ head, name: "later", state: "failed" })
          assert.deepStrictEqual(yield* onBase, [{ ...unknown, green: false, later: null }, ["red"]])
          assert.isTrue(forge.seen.slice(before).some(({ path }) => path.includes("/branches/")))
          forge.odd.failing = undefined
          forge.checks.splice(forge.checks.indexOf(later), 1)
          assert.deepStrictEqual(yield* onBase, [{ ...unknown, green: false }, ["red"]])

          // One that refuses is not read.
          forge.odd.forbidden = "/branches/"
          assert.deepStrictEqual(yield* onBase, [{ red: null, green: null, absent: null, fine: null }, []])
          forge.odd.forbidden = undefined
          assert.deepStrictEqual(yield* onBase, [{ ...unknown, green: false }, ["red"]])

          // The base moves on, and is red elsewhere.
          origin.commitOn("main", "c.txt", "theirs\n")
          assert.deepStrictEqual(yield* onBase, [{ red: null, green: null, absent: null, fine: null }, []])
          forge.check({ head: base(), name: "green", state: "failed" })
          assert.deepStrictEqual(yield* onBase, [{ red: null, green: true, absent: null, fine: null }, ["green"]])

          // A condition waits for a check that is red on the base as for any other.
          forge.required.push("green")
          for (const checks of ["required", "all"] as const) {
            yield* (yield* Conditions).set(principal, id, { checks })
            const { conditions, state } = yield* look
            const unmet = conditions?.waiting_for.find((each) => each.kind === "checks_failing")
            assert.include(unmet?.names ?? [], "green")
            assert.strictEqual(state, "open")
          }

          // Nobody asks for the base while the head is green.
          for (const name of ["red", "absent"]) forge.check({ head, name, state: "passed" })
          forge.check({ head, name: "green", state: "pending" })
          yield* look
          const asked = forge.seen.length
          assert.deepStrictEqual(yield* onBase, [{ red: null, green: null, absent: null, fine: null }, []])
          assert.isFalse(forge.seen.slice(asked).some(({ path }) => path.includes(base())))
        })
      )
  })
}
