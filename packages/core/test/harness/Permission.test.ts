import { assert, layer } from "@effect/vitest"
import { Harness } from "@reins/core/harness/Harness"
import type { HarnessEvent } from "@reins/core/harness/HarnessEvent"
import type { TurnInput } from "@reins/core/harness/TurnInput"
import { of, place, runTurn, said, services, turnInput, turnOf } from "@reins/testing/harness/Turns"
import { Deferred, Effect, Stream } from "effect"

const toolCall = { toolCallId: "t1", title: "Run", kind: "execute", status: "pending", rawInput: { command: "make" } }

const ask = (options: ReadonlyArray<{ readonly optionId: string; readonly kind: string; readonly name?: string }>) => ({
  ask: "session/request_permission",
  params: { toolCall, options }
})

const permission = ask([
  { optionId: "yes", kind: "allow_once", name: "Allow" },
  { optionId: "no", kind: "reject_once", name: "Refuse" }
])

const turn = (steps: ReadonlyArray<object>, changes: Partial<TurnInput>) =>
  Effect.flatMap(place, (where) => runTurn(turnInput(where, JSON.stringify(steps), changes)))

const selected = (optionId: string) => JSON.stringify({ outcome: { outcome: "selected", optionId } })
const taken = JSON.stringify({ outcome: { outcome: "cancelled" } })

const stopReason = (events: ReadonlyArray<HarnessEvent>) => of(events, "ended")[0]?.stop_reason

layer(services, { excludeTestServices: true })("what an agent asks", (it) => {
  it.scoped("is told after the tool call that it is about, with the option that refuses as its default", () =>
    Effect.gen(function* () {
      const events = yield* turn([permission], { ask: () => Effect.succeed("yes") })
      assert.deepStrictEqual(
        events.map((event) => event._tag).filter((tag) => tag === "tool" || tag === "asked" || tag === "text"),
        ["tool", "asked", "text", "tool"]
      )
      assert.deepStrictEqual(of(events, "asked"), [
        {
          _tag: "asked",
          request_id: "ask-1",
          kind: "approval",
          title: "Run",
          description: '{"command":"make"}',
          tool_id: "t1",
          options: [
            { id: "yes", name: "Allow", kind: "allow_once" },
            { id: "no", name: "Refuse", kind: "reject_once" }
          ],
          default: "no"
        }
      ])
      assert.include(said(events), selected("yes"))
    })
  )

  it.scoped("is a question where its options neither allow nor reject, and has no default then", () =>
    Effect.gen(function* () {
      const colours = ask([
        { optionId: "r", kind: "choice", name: "Red" },
        { optionId: "g", kind: "choice" }
      ])
      const events = yield* turn([colours, colours], {
        ask: (id) => Effect.succeed(id === "ask-1" ? "g" : null)
      })
      const [asked] = of(events, "asked")
      assert.deepStrictEqual([asked?.kind, asked?.default], ["question", null])
      assert.deepStrictEqual(
        asked?.options.map(({ name }) => name),
        ["Red", "g"]
      )
      assert.include(said(events), selected("g") + taken)
    })
  )

  it.scoped("holds up nothing else: output that comes before the answer is heard", () =>
    Effect.gen(function* () {
      const where = yield* place
      const harness = yield* Harness
      const answer = yield* Deferred.make<string>()
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Meanwhile." } }
      const steps = [{ ...permission, meanwhile: update }]
      const input = turnInput(where, JSON.stringify(steps), { ask: () => Deferred.await(answer) })
      const events = yield* turnOf(harness.open)(input).pipe(
        Stream.tap((event) =>
          event._tag === "text" && event.text === "Meanwhile." ? Deferred.succeed(answer, "yes") : Effect.void
        ),
        Stream.runCollect
      )
      assert.include(said([...events]), `Meanwhile.${selected("yes")}`)
    })
  )

  it.scoped("is not silence, however long a person thinks", () =>
    Effect.gen(function* () {
      const events = yield* turn([{ ...permission, params: { options: permission.params.options } }], {
        silenceTimeout: "500 millis",
        ask: () => Effect.delay(Effect.succeed("yes"), "2 seconds")
      })
      assert.strictEqual(stopReason(events), "completed")
    })
  )

  it.scoped("is taken back when the turn is cancelled, and the agent hears of that first", () =>
    Effect.gen(function* () {
      const where = yield* place
      const cancel = yield* Deferred.make<void>()
      const lines: Array<string> = []
      const harness = yield* Harness
      const input = turnInput(where, JSON.stringify([permission]), {
        ask: () => Effect.never,
        cancel: Deferred.await(cancel),
        onLine: (direction, line) => Effect.sync(() => void (direction === "out" && lines.push(line)))
      })
      const events = yield* turnOf(harness.open)(input).pipe(
        Stream.tap((event) => (event._tag === "asked" ? Deferred.succeed(cancel, undefined) : Effect.void)),
        Stream.runCollect
      )
      const told = lines.findIndex((line) => line.includes("session/cancel"))
      const answered = lines.findIndex((line) => line.includes('"outcome":"cancelled"'))
      assert.isTrue(told >= 0 && told < answered, lines.join("\n"))
      assert.include(said([...events]), taken)
    })
  )

  it.scoped("and is refused makes the end of the turn `denied`, unless the agent goes on with something else", () =>
    Effect.gen(function* () {
      const quiet = { ...permission, quiet: true }
      const no = { ask: () => Effect.succeed("no") }
      const before = { say: "I begin." }
      assert.strictEqual(stopReason(yield* turn([before, quiet], no)), "denied")
      assert.strictEqual(stopReason(yield* turn([before, quiet, { end: "cancelled" }], no)), "denied")
      assert.strictEqual(stopReason(yield* turn([quiet, { say: "Then not." }], no)), "completed")
      assert.strictEqual(stopReason(yield* turn([before, quiet], { ask: () => Effect.succeed(null) })), "denied")
      assert.strictEqual(stopReason(yield* turn([before, quiet], { ask: () => Effect.succeed("yes") })), "completed")
    })
  )
})
