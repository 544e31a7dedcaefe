import { assert, describe, it } from "@effect/vitest"
import { sealSubject } from "@reins/base/base/SealSubject"
import type { Event } from "@reins/base/domain/Event"
import type { FormContent } from "@reins/base/domain/Form"
import { InteractionId, newId, type TurnId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { toMillis } from "@reins/base/domain/Timestamp"
import { systemActor } from "@reins/core/access/Access"
import { EventLog } from "@reins/core/events/EventLog"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import type { Asked } from "@reins/machine/harness/HarnessEvent"
import { faultsOf } from "@reins/testing/Faults"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Fiber } from "effect"
import { question } from "../execution/Questions.js"

const runner = systemActor("runner")

/** The failure of a call: the code of an error, or the place of what is malformed. */
const failureOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error): unknown => {
    if (error instanceof ReinsError) return error.code
    return error instanceof RequestInvalid ? faultsOf(error).map(({ loc }) => loc.join(".")) : error
  })

/** A session whose turn runs, as far as the database knows, with what a test does with it. */
const running = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const sessions = yield* Sessions
  const turns = yield* Turns
  const turnStore = yield* TurnStore
  const journal = yield* Journal
  const interactions = yield* Interactions
  const store = yield* InteractionStore
  const log = yield* EventLog
  const session = yield* sessions.create(principal, workspaceId, {})
  const sent = yield* (yield* Messages).send(principal, session.id, { content: "Go on." })
  const turn = yield* turns.get(principal, sent.turn_id ?? "")
  for (const to of ["preparing", "running"] as const) yield* journal.commit(turnStore.move(turn.id, to, runner))
  const ask = (asked: Asked = question) =>
    Effect.flatMap(journal.commit(store.open(turn.id, runner, asked)), (interaction) =>
      interaction === undefined ? Effect.dieMessage("nothing was asked") : Effect.succeed(interaction)
    )
  const shown = Effect.all({
    turn: Effect.map(turns.get(principal, turn.id), ({ state }) => state),
    activity: Effect.map(sessions.get(principal, session.id), ({ activity }) => activity)
  })
  const told = Effect.map(log.page(principal, session.id, { limit: 1000 }), ({ items }) => items.flatMap(actionOf))
  return {
    principal,
    session,
    sessions,
    turnId: turn.id,
    turns,
    turnStore,
    journal,
    interactions,
    store,
    ask,
    shown,
    told
  }
})

const actionOf = ({ payload, turn_id, type }: Event): ReadonlyArray<ReadonlyArray<unknown>> => {
  const interaction = payload["interaction"]
  return typeof interaction === "object" && interaction !== null && "state" in interaction
    ? [[type, interaction.state, turn_id]]
    : []
}

const action = (type: "required" | "changed" | "resolved", state: string, turnId: TurnId) => [
  `turn.action_${type}`,
  state,
  turnId
]

for (const { layer, name } of flowDatabases) {
  describe(`interactions on ${name}`, () => {
    it.scopedLive("a form takes what its fields take, with a note, and the same answer again changes nothing", () =>
      Effect.gen(function* () {
        const { ask, interactions, principal } = yield* running
        const options = [
          { id: "accept", name: "Submit", kind: "accept" },
          { id: "decline", name: "Decline", kind: "decline" }
        ]
        const field = { description: null, choices: [], default: null, minimum: null, maximum: null, format: null }
        const form = [
          { ...field, name: "count", title: "Count", type: "integer" as const, required: true, minimum: 1, maximum: 9 },
          { ...field, name: "name", title: "Name", type: "text" as const, required: false, maximum: 3 },
          { ...field, name: "sure", title: "Sure", type: "boolean" as const, required: false },
          {
            ...field,
            name: "tags",
            title: "Tags",
            type: "choices" as const,
            required: false,
            choices: [{ value: "a", title: "A" }]
          }
        ]
        const { id, ...asked } = yield* ask({
          ...question,
          kind: "form",
          tool_id: null,
          options,
          form,
          default: "decline"
        })
        assert.deepStrictEqual([asked.kind, asked.form, asked.content], ["form", form, null])
        const answer = (content: Record<string, unknown>, option = "accept") =>
          interactions.answer(principal, id, { answer: option, content: content as FormContent, note: "As asked." })
        for (const [at, content] of [
          ["count", {}],
          ["count", { count: 1.5 }],
          ["count", { count: 10 }],
          ["name", { count: 1, name: "four" }],
          ["sure", { count: 1, sure: "yes" }],
          ["tags", { count: 1, tags: ["b"] }],
          ["colour", { count: 1, colour: "red" }]
        ] as const)
          assert.deepStrictEqual(yield* failureOf(answer(content)), [`body.content.${at}`])
        assert.deepStrictEqual(yield* failureOf(answer({ count: 1 }, "decline")), ["body.content"])
        const content = { count: 2, tags: ["a"] }
        const given = yield* answer(content)
        assert.deepInclude(given, { state: "answered", answer: "accept", note: "As asked.", content })
        assert.deepStrictEqual(yield* answer({ tags: ["a"], count: 2 }), given)
        assert.strictEqual(yield* failureOf(answer({ count: 3 })), "invalid_transition")
      }).pipe(Effect.provide(services(layer)))
    )

    const asleep = services(layer)

    it.scopedLive("a turn waits for the answer to what its agent asks, and runs again once it has it", () =>
      Effect.gen(function* () {
        const { ask, interactions, journal, principal, session, shown, store, told, turnId } = yield* running
        const asked = yield* ask()
        assert.deepInclude(asked, {
          session_id: session.id,
          turn_id: turnId,
          state: "pending",
          default: "no",
          answer: null
        })
        assert.deepStrictEqual(yield* shown, { turn: "requires_action", activity: "requires_action" })
        assert.deepStrictEqual((yield* interactions.list(principal, session.id, {})).items, [asked])

        const settled = yield* Effect.fork(store.settled(asked.id, journal.commit))
        const answered = yield* interactions.answer(principal, asked.id, { answer: "yes" })
        assert.deepInclude(answered, { state: "answered", answer: "yes" })
        assert.deepStrictEqual(yield* Fiber.join(settled), answered)
        assert.deepStrictEqual(yield* shown, { turn: "running", activity: "running" })
        assert.deepStrictEqual(yield* told, [
          action("required", "pending", turnId),
          action("resolved", "answered", turnId)
        ])
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("a turn that waits for several answers runs again with the last one", () =>
      Effect.gen(function* () {
        const { ask, interactions, principal, session, shown } = yield* running
        const first = yield* ask()
        const second = yield* ask({ ...question, request_id: "ask-2" })
        const { items } = yield* interactions.list(principal, session.id, { state: "pending" })
        assert.deepStrictEqual(
          items.map(({ id }) => id),
          [second.id, first.id]
        )
        yield* interactions.answer(principal, second.id, { answer: "no" })
        assert.strictEqual((yield* shown).turn, "requires_action")
        yield* interactions.answer(principal, first.id, { answer: "no" })
        assert.strictEqual((yield* shown).turn, "running")
        const page = yield* interactions.list(principal, session.id, { limit: 1 })
        const rest = yield* interactions.list(principal, session.id, { limit: 1, cursor: page.next_cursor ?? "" })
        assert.deepStrictEqual(
          [...page.items, ...rest.items].map(({ id }) => id),
          [second.id, first.id]
        )
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive(
      "the same answer again changes nothing, another one is refused, and so is one that is no option",
      () =>
        Effect.gen(function* () {
          const { ask, interactions, principal, told } = yield* running
          const { id } = yield* ask()
          const answer = (given: string) => interactions.answer(principal, id, { answer: given })
          assert.deepStrictEqual(yield* failureOf(answer("perhaps")), ["body.answer"])
          const answered = yield* answer("yes")
          const before = yield* told
          assert.deepStrictEqual(yield* answer("yes"), answered)
          assert.strictEqual(yield* failureOf(answer("no")), "invalid_transition")
          assert.deepStrictEqual(yield* failureOf(answer("perhaps")), ["body.answer"])
          assert.deepStrictEqual(yield* told, before)
          const unknown = interactions.answer(principal, yield* newId(InteractionId), { answer: "yes" })
          assert.strictEqual(yield* failureOf(unknown), "not_found")
        }).pipe(Effect.provide(asleep))
    )

    it.scopedLive(
      "an answer is about the subject that was seen, and a call that changes is told and asks to be seen anew",
      () =>
        Effect.gen(function* () {
          const { ask, interactions, journal, principal, session, store, told, turnId } = yield* running
          const [first, second] = ["npm test", "rm -rf /"].map((command) => sealSubject({ kind: "command", command }))
          if (first === undefined || second === undefined) return assert.fail("no subjects")
          const { id, subject } = yield* ask({ ...question, subject: first })
          assert.deepStrictEqual(subject, first)
          const answer = (seen?: string) => interactions.answer(principal, id, { answer: "yes", ...(seen && { seen }) })
          const revised = { title: "Remove all", description: null, subject: second }
          yield* journal.commit(store.revise(id, revised, runner))
          const refusal = yield* Effect.flip(answer(first.digest))
          assert.deepInclude(refusal, { code: "stale_subject", details: { digest: second.digest, seen: first.digest } })
          const { items } = yield* interactions.list(principal, session.id, {})
          assert.deepInclude(items[0], { ...revised, state: "pending" })
          const answered = yield* answer(second.digest)
          assert.deepInclude(answered, { state: "answered", subject: second })
          // The same answer again changes nothing, whatever it had seen, and a change that comes late changes nothing either.
          assert.deepStrictEqual(yield* answer(first.digest), answered)
          yield* journal.commit(store.revise(id, { ...revised, subject: first }, runner))
          assert.deepStrictEqual(yield* answer(), answered)
          assert.deepStrictEqual(yield* told, [
            action("required", "pending", turnId),
            action("changed", "pending", turnId),
            action("resolved", "answered", turnId)
          ])
        }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("an approval without a subject is answered as ever, and nobody has seen one of it", () =>
      Effect.gen(function* () {
        const { ask, interactions, principal } = yield* running
        const { id, subject } = yield* ask()
        assert.isNull(subject)
        const seen = interactions.answer(principal, id, { answer: "yes", seen: "sha256:0" })
        assert.strictEqual(yield* failureOf(seen), "stale_subject")
        assert.strictEqual((yield* interactions.answer(principal, id, { answer: "yes" })).answer, "yes")
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("what nobody answers in time expires with its default, once", () =>
      Effect.gen(function* () {
        const { ask, interactions, journal, principal, shown, store, told, turnId } = yield* running
        const asked = yield* ask()
        assert.strictEqual(toMillis(asked.expires_at) - toMillis(asked.created_at), 300)
        const both = yield* Effect.all(
          [1, 2].map(() => store.settled(asked.id, journal.commit)),
          { concurrency: 2 }
        )
        for (const expired of both) assert.deepInclude(expired, { state: "expired", answer: "no" })
        assert.strictEqual((yield* shown).turn, "running")
        assert.deepStrictEqual(yield* told, [
          action("required", "pending", turnId),
          action("resolved", "expired", turnId)
        ])
        const late = interactions.answer(principal, asked.id, { answer: "yes" })
        assert.strictEqual(yield* failureOf(late), "invalid_transition")
      }).pipe(Effect.provide(services(layer, { interactionExpiryMs: 300 })))
    )

    it.scopedLive(
      "a turn can end well although its agent had asked: what it does not wait for any more is cancelled",
      () =>
        Effect.gen(function* () {
          const { ask, interactions, journal, principal, session, shown, store, turnId, turnStore } = yield* running
          yield* ask()
          yield* ask({ ...question, request_id: "ask-2" })
          yield* journal.commit(
            Effect.zipRight(store.withdraw(turnId, runner), turnStore.move(turnId, "succeeded", runner))
          )
          assert.deepStrictEqual(yield* shown, { turn: "succeeded", activity: "idle" })
          const { items } = yield* interactions.list(principal, session.id, {})
          assert.deepStrictEqual(
            items.map(({ state }) => state),
            ["cancelled", "cancelled"]
          )
        }).pipe(Effect.provide(asleep))
    )

    for (const [what, to] of [
      ["cancelled", "cancelling"],
      ["failed", "failed"],
      ["interrupted", "interrupted"]
    ] as const) {
      it.scopedLive(`what is pending when the turn is ${what} is cancelled with it`, () =>
        Effect.gen(function* () {
          const { ask, interactions, journal, principal, store, told, turnId, turnStore, turns } = yield* running
          const asked = yield* ask()
          yield* to === "cancelling"
            ? turns.cancel(principal, turnId)
            : journal.commit(turnStore.move(turnId, to, runner, { reason: "outcome_unknown" }))
          const settled = yield* store.settled(asked.id, journal.commit)
          assert.deepInclude(settled, { state: "cancelled", answer: null })
          assert.deepStrictEqual((yield* told).at(-1), action("resolved", "cancelled", turnId))
          const late = interactions.answer(principal, asked.id, { answer: "yes" })
          assert.strictEqual(yield* failureOf(late), "invalid_transition")
          const more = yield* journal.commit(store.open(turnId, runner, question))
          assert.isUndefined(more)
        }).pipe(Effect.provide(asleep))
      )
    }
  })
}
