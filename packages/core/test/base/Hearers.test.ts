import { assert, it } from "@effect/vitest"
import { makeHearers } from "@reins/base/base/Hearers"
import { Effect, Exit } from "effect"

it.effect(
  "each hearer is told in the order in which it registered, and one that does not want to know is passed over",
  () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const hearers = makeHearers<{ readonly moved?: Effect.Effect<void> }>()
      for (const name of ["first", "second"])
        yield* hearers.register({ moved: Effect.sync(() => void told.push(name)) })
      yield* hearers.register({})
      yield* hearers.register({ moved: Effect.sync(() => void told.push("last")) })
      yield* hearers.tell(({ moved }) => moved)
      assert.deepStrictEqual(told, ["first", "second", "last"])
    })
)

it.effect("a hearer that objects ends the telling with its failure", () =>
  Effect.gen(function* () {
    const told: Array<string> = []
    const hearers = makeHearers<Effect.Effect<void, "no">>()
    yield* hearers.register(Effect.fail("no" as const))
    yield* hearers.register(Effect.sync(() => void told.push("after")))
    assert.deepStrictEqual(yield* Effect.exit(hearers.tell((hear) => hear)), Exit.fail("no" as const))
    assert.deepStrictEqual(told, [])
  })
)

it.effect("the first answer counts, and nobody is asked after it", () =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const hearers = makeHearers<(name: string) => Effect.Effect<string | undefined>>()
    const answering = (who: string, answer: string | undefined) => () =>
      Effect.sync(() => {
        asked.push(who)
        return answer
      })
    assert.isUndefined(yield* hearers.ask((hear) => hear("x")))
    yield* hearers.register(answering("a", undefined))
    yield* hearers.register(answering("b", "found"))
    yield* hearers.register(answering("c", "late"))
    assert.strictEqual(yield* hearers.ask((hear) => hear("x")), "found")
    assert.deepStrictEqual(asked, ["a", "b"])
  })
)
