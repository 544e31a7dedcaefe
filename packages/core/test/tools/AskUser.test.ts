import { assert, describe, it } from "@effect/vitest"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { systemActor } from "@reins/core/access/Access"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import type { InteractionAnswer } from "@reins/core/sessions/questions/InteractionsApi"
import { ToolCallStore } from "@reins/core/sessions/questions/ToolCallStore"
import type { Interaction } from "@reins/core/sessions/rows/Interaction"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import { faultsOf } from "@reins/testing/Faults"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Exit, Fiber, Schedule, Scope } from "effect"

const runner = systemActor("runner")

/** A session whose agent asks, and the person who answers. */
const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const interactions = yield* Interactions
  const journal = yield* Journal
  const store = yield* TurnStore
  const turns = yield* Turns
  const session = yield* (yield* Sessions).create(principal, workspaceId, {})
  const sent = yield* (yield* Messages).send(principal, session.id, { content: "Do it." })
  const begin = Effect.fnUntraced(function* (turnId: string) {
    const turn = yield* store.find(turnId)
    const row = yield* (yield* SessionStore).find(session.id)
    if (turn === undefined || row === undefined) return yield* Effect.dieMessage("there is no turn")
    for (const to of ["preparing", "running"] as const) yield* journal.commit(store.move(turn.id, to, runner))
    const scope = yield* Effect.acquireRelease(Scope.make(), (open) => Scope.close(open, Exit.void))
    const call = yield* Scope.extend((yield* ToolRuns).of(row, turn), scope)
    let calls = 0
    return {
      id: turn.id,
      ask: (input: unknown) =>
        call({ server: "reins", tool: "ask_user", call_id: `call-${++calls}`, input, hears_progress: true }),
      die: Effect.zipRight(Scope.close(scope, Exit.void), journal.commit(store.move(turn.id, "interrupted", runner)))
    }
  })
  const pending = Effect.map(interactions.list(principal, session.id, { state: "pending" }), ({ items }) => items)
  const asked = Effect.repeat(pending, {
    until: ({ length }) => length > 0,
    schedule: Schedule.spaced("25 millis")
  }).pipe(
    Effect.zipRight(pending),
    Effect.flatMap(([first]) => (first === undefined ? Effect.dieMessage("nothing was asked") : Effect.succeed(first)))
  )
  const answer = ({ id }: Interaction, input: InteractionAnswer) => interactions.answer(principal, id, input)
  return { answer, asked, begin, journal, pending, principal, sent, turns }
})

for (const { layer, name } of flowDatabases) {
  describe(`questions that agents ask with a tool on ${name}`, () => {
    it.scopedLive("the turn waits for the person, and the agent gets the answer in words", () =>
      Effect.gen(function* () {
        const { answer, asked, begin, principal, sent, turns } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const asking = yield* Effect.fork(
          agent.ask({ question: "Which one?", options: ["The red one", "The blue one"] })
        )
        const question = yield* asked
        assert.deepStrictEqual(
          [question.kind, question.title, question.options.map((each) => each.name), question.default, question.tool],
          ["question", "Which one?", ["The red one", "The blue one"], null, null]
        )
        assert.strictEqual((yield* turns.get(principal, agent.id)).state, "requires_action")
        yield* answer(question, { answer: "2", note: "It is warmer." })
        assert.deepStrictEqual(JSON.parse((yield* Fiber.join(asking)).text), {
          answer: "The blue one",
          note: "It is warmer."
        })
        assert.strictEqual((yield* turns.get(principal, agent.id)).state, "running")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a form gives its values, a question without answers gives words, and both may be declined", () =>
      Effect.gen(function* () {
        const { answer, asked, begin, sent } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const form = [
          { name: "port", type: "integer", title: "Port" },
          { name: "colour", type: "choice", choices: ["red", "blue"], required: false }
        ]
        const filling = yield* Effect.fork(agent.ask({ question: "Where does it run?\nIt has to be free.", form }))
        const asksForm = yield* asked
        assert.deepStrictEqual(
          [asksForm.kind, asksForm.title, asksForm.description],
          ["form", "Where does it run?", "Where does it run?\nIt has to be free."]
        )
        const fault = yield* Effect.flip(answer(asksForm, { answer: "accept", content: { port: "80" } }))
        assert.deepStrictEqual(fault instanceof RequestInvalid && faultsOf(fault).map(({ loc }) => loc.join(".")), [
          "body.content.port"
        ])
        yield* answer(asksForm, { answer: "accept", content: { port: 80 } })
        assert.strictEqual((yield* Fiber.join(filling)).text, '{"port":80}')
        const open = yield* Effect.fork(agent.ask({ question: "Why?" }))
        yield* answer(yield* asked, { answer: "accept", content: { answer: "Because." } })
        assert.strictEqual((yield* Fiber.join(open)).text, '{"answer":"Because."}')
        const declined = yield* Effect.fork(agent.ask({ question: "Why not?" }))
        yield* answer(yield* asked, { answer: "decline" })
        assert.strictEqual((yield* Fiber.join(declined)).text, '{"declined":true}')
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a question whose turn is interrupted stays, and the retry takes its answer or waits on", () =>
      Effect.gen(function* () {
        const { answer, asked, begin, pending, principal, sent, turns } = yield* given
        const first = yield* begin(sent.turn_id ?? "")
        yield* Effect.forkDaemon(first.ask({ question: "One?", options: ["Yes"] }))
        const one = yield* asked
        yield* first.die
        assert.lengthOf(yield* pending, 1)
        yield* answer(one, { answer: "1" })
        const second = yield* begin((yield* turns.retry(principal, first.id)).id)
        assert.strictEqual((yield* second.ask({ question: "One?", options: ["Yes"] })).text, '{"answer":"Yes"}')
        yield* Effect.forkDaemon(second.ask({ question: "Two?" }))
        const two = yield* asked
        yield* second.die
        const third = yield* begin((yield* turns.retry(principal, second.id)).id)
        const waiting = yield* Effect.fork(third.ask({ question: "Two?" }))
        yield* Effect.repeat(turns.get(principal, third.id), {
          until: ({ state }) => state === "requires_action",
          schedule: Schedule.spaced("25 millis")
        })
        assert.deepStrictEqual(
          (yield* pending).map(({ id, turn_id }) => [id, turn_id]),
          [[two.id, third.id]]
        )
        yield* answer(two, { answer: "accept", content: { answer: "Yes." } })
        assert.strictEqual((yield* Fiber.join(waiting)).text, '{"answer":"Yes."}')
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a question that nobody answers in time is expired, and the agent is told", () =>
      Effect.gen(function* () {
        const { asked, begin, journal, pending, sent } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const asking = yield* Effect.fork(agent.ask({ question: "Anybody?" }))
        const { id } = yield* asked
        const { run, sql } = yield* Database
        yield* journal.commit(
          run(sql`update interactions set expires_at = '2020-01-01T00:00:00.000Z' where id = ${id}`)
        )
        yield* journal.commit((yield* ToolCallStore).expire(id))
        const told = yield* Fiber.join(asking)
        assert.isTrue(told.is_error)
        assert.include(told.text, "Nobody answered in time")
        assert.isEmpty(yield* pending)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a question of a wrong form is refused with the place, and asks nobody", () =>
      Effect.gen(function* () {
        const { begin, pending, sent } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const wrong: ReadonlyArray<readonly [unknown, string]> = [
          [{}, "question"],
          [{ question: "" }, "question"],
          [{ question: "x", options: [] }, "options"],
          [{ question: "x", options: ["a", "a"] }, "each answer once"],
          [{ question: "x", options: ["a"], form: [{ name: "a", type: "text" }] }, "not both"],
          [{ question: "x", form: [{ name: "a", type: "choice" }] }, "form.0"],
          [{ question: "x", form: [{ name: "a", type: "date" }] }, "form.0.type"],
          [{ question: "x", form: [{ name: "__proto__", type: "text" }] }, "form.0.name"],
          [{ question: "x", more: 1 }, "more"]
        ]
        for (const [input, place] of wrong) {
          const told = yield* agent.ask(input)
          assert.isTrue(told.is_error)
          assert.include(told.text, place)
        }
        assert.isEmpty(yield* pending)
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
