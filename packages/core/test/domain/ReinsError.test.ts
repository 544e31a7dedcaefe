import { assert, it } from "@effect/vitest"
import { catchCode, notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"

const active = new ReinsError({
  code: "turn_active",
  message: "A turn runs.",
  details: { turn_id: "turn_1", queued_turns: 2 }
})
const failing = (found: boolean): Effect.Effect<string, ReinsError<"not_found" | "turn_active">> =>
  Effect.fail(found ? active : notFound())

it.effect("the errors of a code are caught with its details, and the others are left with theirs", () =>
  Effect.gen(function* () {
    const caught = (found: boolean): Effect.Effect<string, ReinsError<"not_found">> =>
      failing(found).pipe(catchCode("turn_active", ({ details }) => Effect.succeed(`waits for ${details?.turn_id}`)))
    assert.strictEqual(yield* caught(true), "waits for turn_1")
    assert.strictEqual((yield* Effect.flip(caught(false))).code, "not_found")
    const all: Effect.Effect<string> = failing(false).pipe(
      catchCode(["turn_active", "not_found"], ({ code }) => Effect.succeed(code))
    )
    assert.strictEqual(yield* all, "not_found")
  })
)

it("a code takes its own details, and an error of many codes is not one of few", () => {
  // @ts-expect-error the details of another code
  const mistaken = new ReinsError({ code: "turn_active", message: "", details: { limit_bytes: 1 } })
  const any: ReinsError = mistaken
  // @ts-expect-error it may be of any code
  // @effect-diagnostics-next-line missingEffectError:off
  const few: ReinsError<"not_found"> = any
  assert.isFalse(few.is("not_found"))
})
