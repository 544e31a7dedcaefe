import { assert, layer } from "@effect/vitest"
import { sealSubject } from "@reins/base/base/SealSubject"
import { Harness } from "@reins/machine/harness/Harness"
import type { HarnessEvent } from "@reins/machine/harness/HarnessEvent"
import type { QuestionAnswer, TurnInput, Word } from "@reins/machine/harness/TurnInput"
import { of, place, runTurn, said, scriptedManifest, services, turnInput, turnOf } from "@reins/testing/harness/Turns"
import { Deferred, Effect, Queue, Stream } from "effect"

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

const taking = (option: string, more: Partial<QuestionAnswer> = {}): QuestionAnswer => ({
  option,
  note: null,
  content: null,
  ...more
})

const selected = (optionId: string) => JSON.stringify({ outcome: { outcome: "selected", optionId } })
const taken = JSON.stringify({ outcome: { outcome: "cancelled" } })

const stopReason = (events: ReadonlyArray<HarnessEvent>) => of(events, "ended")[0]?.stop_reason

layer(services, { excludeTestServices: true })("what an agent asks", (it) => {
  it.scoped("is told after the tool call that it is about, with the option that refuses as its default", () =>
    Effect.gen(function* () {
      const events = yield* turn([permission], { ask: () => Effect.succeed(taking("yes")) })
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
          subject: sealSubject({ kind: "command", command: "make" }),
          tool_id: "t1",
          options: [
            { id: "yes", name: "Allow", kind: "allow_once" },
            { id: "no", name: "Refuse", kind: "reject_once" }
          ],
          form: null,
          url: null,
          default: "no"
        }
      ])
      assert.include(said(events), selected("yes"))
    })
  )

  it.scoped("is asked with the options that can be read, and with the edit that was told before", () =>
    Effect.gen(function* () {
      const edit = { toolCallId: "e1", title: "Editing files", kind: "edit", status: "pending" }
      const content = [{ type: "diff", path: "/w/a.txt", oldText: "one\n", newText: "two\n" }]
      const events = yield* turn(
        [
          { update: { sessionUpdate: "tool_call", ...edit, content } },
          {
            ask: "session/request_permission",
            params: {
              toolCall: {
                toolCallId: "e1",
                title: "Edit files",
                kind: "edit",
                status: "pending",
                locations: [null, 7, {}]
              },
              options: [
                { optionId: "yes", kind: "allow_once", name: null },
                { optionId: 7, kind: "allow_always" },
                null,
                { optionId: "no", kind: "reject_once" }
              ]
            }
          }
        ],
        { ask: () => Effect.succeed(taking("yes")) }
      )
      const [asked] = of(events, "asked")
      assert.strictEqual(asked?.title, "Edit files: /w/a.txt")
      assert.deepStrictEqual(JSON.parse(asked?.description ?? ""), {
        path: "/w/a.txt",
        old_text: "one\n",
        new_text: "two\n"
      })
      assert.deepStrictEqual(
        asked?.options.map(({ id }) => id),
        ["yes", "no"]
      )
      assert.include(said(events), selected("yes"))
    })
  )

  it.scoped(
    "waits for the input that an agent tells right after it has asked, and says that nothing is known without one",
    () =>
      Effect.gen(function* () {
        const call = { toolCallId: "c1", title: "tickets_close", kind: "other", status: "pending", rawInput: {} }
        const { options } = permission.params
        const step = { ask: "session/request_permission", params: { toolCall: call, options } }
        const meanwhile = { sessionUpdate: "tool_call_update", toolCallId: "c1", rawInput: { id: 7 } }
        const answer = { ask: () => Effect.succeed(taking("yes")) }
        const [late] = of(yield* turn([{ ...step, meanwhile }], answer), "asked")
        assert.strictEqual(late?.description, '{"id":7}')
        const [never] = of(yield* turn([step], answer), "asked")
        assert.strictEqual(never?.description, "The agent says no more about it than this title.")
        const withdrawn = yield* turn([{ ...step, withdraw: true }], { ask: () => Effect.never })
        assert.deepStrictEqual([of(withdrawn, "asked"), of(withdrawn, "withdrawn").length], [[], 1])
      })
  )

  it.scoped("is a question where its options neither allow nor reject, and has no default then", () =>
    Effect.gen(function* () {
      const colours = ask([
        { optionId: "r", kind: "choice", name: "Red" },
        { optionId: "g", kind: "choice" }
      ])
      const events = yield* turn([colours, colours], {
        ask: (id) => Effect.succeed(id === "ask-1" ? taking("g") : null)
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
      const answer = yield* Deferred.make<QuestionAnswer>()
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Meanwhile." } }
      const steps = [{ ...permission, meanwhile: update }]
      const input = turnInput(where, JSON.stringify(steps), { ask: () => Deferred.await(answer) })
      const events = yield* turnOf(harness.open)(input).pipe(
        Stream.tap((event) =>
          event._tag === "text" && event.text === "Meanwhile." ? Deferred.succeed(answer, taking("yes")) : Effect.void
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
        ask: () => Effect.delay(Effect.succeed(taking("yes")), "2 seconds")
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
      const no = { ask: () => Effect.succeed(taking("no")) }
      const before = { say: "I begin." }
      assert.strictEqual(stopReason(yield* turn([before, quiet], no)), "denied")
      assert.strictEqual(stopReason(yield* turn([before, quiet, { end: "cancelled" }], no)), "denied")
      assert.strictEqual(stopReason(yield* turn([quiet, { say: "Then not." }], no)), "completed")
      assert.strictEqual(stopReason(yield* turn([before, quiet], { ask: () => Effect.succeed(null) })), "denied")
      assert.strictEqual(
        stopReason(yield* turn([before, quiet], { ask: () => Effect.succeed(taking("yes")) })),
        "completed"
      )
    })
  )

  it.scoped("and withdraws is withdrawn from people too, and its turn goes on", () =>
    Effect.gen(function* () {
      const events = yield* turn([{ ...permission, withdraw: true }, { say: "On I go." }], { ask: () => Effect.never })
      assert.deepStrictEqual(of(events, "withdrawn"), [{ _tag: "withdrawn", request_id: "ask-1" }])
      assert.include(said(events), "-32800")
      assert.include(said(events), "On I go.")
      assert.strictEqual(stopReason(events), "completed")
    })
  )

  it.scoped("is answered by the policy where the policy knows the answer, and refused where nobody can be asked", () =>
    Effect.gen(function* () {
      const policy = { default: "deny", tools: { execute: "allow" } } as const
      const allowed = yield* turn([permission], { permissions: policy, ask: () => Effect.never })
      assert.deepStrictEqual(of(allowed, "asked"), [])
      assert.include(said(allowed), selected("yes"))
      const denied = yield* turn([permission], { permissions: { default: "deny" }, ask: () => Effect.never })
      assert.include(said(denied), selected("no"))
      assert.include(said(yield* turn([permission], { permissions: { default: "ask" } })), selected("no"))
    })
  )

  it.scoped("is followed by the note of its answer, in the same turn", () =>
    Effect.gen(function* () {
      const answer = taking("no", { note: "Use npm." })
      const events = yield* turn([permission], { ask: () => Effect.succeed(answer) })
      assert.include(said(events), 'told About "Run", which was answered with "Refuse": Use npm.')
      assert.strictEqual(stopReason(events), "completed")
    })
  )
})

const elicitation = (more: object) => ({
  ask: "elicitation/create",
  params: { sessionId: "s1", message: "Which one?", ...more }
})

const form = elicitation({
  mode: "form",
  requestedSchema: {
    type: "object",
    properties: {
      colour: { type: "string", title: "Colour", oneOf: [{ const: "r", title: "Red" }] },
      count: { type: "integer", minimum: 1, default: 2 },
      tags: { type: "array", items: { enum: ["a", "b"] } },
      shape: { type: "hologram" }
    },
    required: ["colour"]
  }
})

layer(services, { excludeTestServices: true })("the input that an agent asks for", (it) => {
  it.scoped("is a form with its fields, whose values go back to the agent", () =>
    Effect.gen(function* () {
      const content = { colour: "r", count: 3, tags: ["a"] }
      const events = yield* turn([form], { isAnswered: true, ask: () => Effect.succeed(taking("accept", { content })) })
      const [asked] = of(events, "asked")
      assert.deepStrictEqual([asked?.kind, asked?.title, asked?.default], ["form", "Which one?", "decline"])
      assert.deepStrictEqual(
        asked?.form?.map(({ choices, name, required, type }) => [name, type, required, choices.length]),
        [
          ["colour", "choice", true, 1],
          ["count", "integer", false, 0],
          ["tags", "choices", false, 2]
        ]
      )
      assert.include(said(events), JSON.stringify({ action: "accept", content }))
      const declined = yield* turn([form], { isAnswered: true, ask: () => Effect.succeed(taking("decline")) })
      assert.include(said(declined), JSON.stringify({ action: "decline" }))
    })
  )

  it.scoped(
    "is declined where nobody answers, where the form cannot be shown, and where a page is none of the web",
    () =>
      Effect.gen(function* () {
        const declined = JSON.stringify({ action: "decline" })
        const impossible = elicitation({
          mode: "form",
          requestedSchema: { properties: { shape: { type: "hologram" } }, required: ["shape"] }
        })
        const page = elicitation({ mode: "url", elicitationId: "e1", url: "file:///etc/passwd" })
        assert.include(said(yield* turn([form], {})), declined)
        for (const step of [impossible, page, elicitation({ mode: "telepathy" })])
          assert.include(said(yield* turn([step], { isAnswered: true, ask: () => Effect.never })), declined)
      })
  )

  it.scoped("is a page to visit, which is withdrawn once it has done its work", () =>
    Effect.gen(function* () {
      const page = elicitation({ mode: "url", elicitationId: "e1", url: "https://login.example/x" })
      const then = [{ method: "elicitation/complete", params: { elicitationId: "e1" } }]
      const events = yield* turn([{ ...page, then }], { isAnswered: true, ask: () => Effect.never })
      assert.deepStrictEqual(
        [of(events, "asked")[0]?.kind, of(events, "asked")[0]?.url],
        ["link", "https://login.example/x"]
      )
      assert.strictEqual(of(events, "withdrawn").length, 1)
      assert.include(said(events), JSON.stringify({ action: "accept" }))
    })
  )
})

layer(services, { excludeTestServices: true })("what is said to an agent while it works", (it) => {
  const words = Effect.fnUntraced(function* (...kinds: ReadonlyArray<Word["kind"]>) {
    const settled: Array<string> = []
    const left = kinds.map(
      (kind, at): Word => ({
        kind,
        prompt: [{ type: "text", text: `word ${at}` }],
        settle: (outcome) => Effect.sync(() => void settled.push(outcome))
      })
    )
    const queue = yield* Queue.unbounded<Word>()
    yield* Queue.offerAll(queue, left)
    return { settled, nextWord: Queue.take(queue) }
  })
  const steerable = (about: object = {}) => ({
    manifest: scriptedManifest({ steering: "session_steering" }, { ABOUT: JSON.stringify(about) })
  })

  it.scoped("goes into what it does, and is left where the agent was idle, refuses it or cannot be steered", () =>
    Effect.gen(function* () {
      const steered = yield* words("steer")
      const events = yield* turn([{ listen: true }, { heard: true }], { ...steerable(), ...steered })
      assert.include(said(events), "heard word 0")
      assert.deepStrictEqual(steered.settled, ["taken"])
      for (const about of [{ steering: "promptRequired" }, { steering: "failed" }]) {
        const left = yield* words("steer")
        yield* turn([{ say: "Busy." }, { ask: "nothing" }], { ...steerable(about), ...left })
        assert.deepStrictEqual(left.settled, ["left"])
      }
    })
  )

  it.scoped("fails the turn of an agent that begins to work by itself, because nobody would see that work", () =>
    Effect.gen(function* () {
      const given = yield* words("steer")
      const failure = yield* Effect.flip(
        turn([{ hang: true }], { ...steerable({ steering: "startedNewTurn" }), ...given })
      )
      assert.strictEqual(failure.reason, "output_invalid")
    })
  )

  it.scoped("stops it where it interrupts, and an open question is withdrawn", () =>
    Effect.gen(function* () {
      const given = yield* words("interrupt")
      const events = yield* turn([{ hang: true }], given)
      assert.include(said(events), "told word 0")
      assert.deepStrictEqual(given.settled, ["taken"])
      assert.strictEqual(stopReason(events), "completed")
    })
  )
})
