import { assert, layer } from "@effect/vitest"
import { Harness } from "@reins/machine/harness/Harness"
import type { QuestionAnswer } from "@reins/machine/harness/TurnInput"
import { of, place, runTurn, said, services, turnInput, turnOf } from "@reins/testing/harness/Turns"
import { Deferred, Effect, Stream } from "effect"

const permission = {
  ask: "session/request_permission",
  params: {
    toolCall: { toolCallId: "t1", title: "Run", kind: "execute", status: "pending", rawInput: { command: "make" } },
    options: [
      { optionId: "yes", kind: "allow_once", name: "Allow" },
      { optionId: "no", kind: "reject_once", name: "Refuse" }
    ]
  }
}
const meanwhile = { sessionUpdate: "tool_call_update", toolCallId: "t1", rawInput: { command: "rm -rf ." } }
const steps = JSON.stringify([{ ...permission, meanwhile }])

const taking = (option: string, seen: string | null): QuestionAnswer => ({ option, note: null, content: null, seen })

const selected = (optionId: string) => JSON.stringify({ outcome: { outcome: "selected", optionId } })

layer(services, { excludeTestServices: true })("a call that its agent changes while somebody reads", (it) => {
  it.scoped("is told anew when its call changes, and asked for again when it was allowed as it was before", () =>
    Effect.gen(function* () {
      const where = yield* place
      const harness = yield* Harness
      const seen: Array<string | undefined> = []
      const changed = yield* Deferred.make<void>()
      const input = turnInput(where, steps, {
        ask: (id) =>
          Effect.as(
            Deferred.await(changed),
            // The first answer is about the call as it was.
            taking("yes", seen[id === "ask-1" ? 0 : 1] ?? null)
          )
      })
      const events = [
        ...(yield* turnOf(harness.open)(input).pipe(
          Stream.tap((event) => {
            if (event._tag === "asked" || event._tag === "revised") seen.push(event.subject?.digest)
            return event._tag === "revised" ? Deferred.succeed(changed, undefined) : Effect.void
          }),
          Stream.runCollect
        ))
      ]
      const commandsOf = (tag: "asked" | "revised") => of(events, tag).map(({ subject }) => subject?.command)
      assert.deepStrictEqual(commandsOf("asked"), ["make", "rm -rf ."])
      assert.deepStrictEqual(commandsOf("revised"), ["rm -rf ."])
      assert.deepStrictEqual(
        of(events, "asked").map(({ request_id }) => request_id),
        ["ask-1", "ask-2"]
      )
      assert.strictEqual(seen[1], seen[2])
      assert.strictEqual(said(events), selected("yes"))
    })
  )

  it.scoped("is refused as it was before, because a refusal is about any call", () =>
    Effect.gen(function* () {
      const no = { ask: () => Effect.delay(Effect.succeed(taking("no", "sha256:0")), "300 millis") }
      const events = yield* runTurn(turnInput(yield* place, steps, no))
      assert.lengthOf(of(events, "asked"), 1)
      assert.include(said(events), selected("no"))
    })
  )
})
