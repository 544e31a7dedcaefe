import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { ClaimId, newId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { systemActor } from "@reins/core/access/Access"
import type { FunctionTool } from "@reins/core/sessions/functions/FunctionTool"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
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
import { ToolSources } from "@reins/core/tools/ToolSources"
import { faultsOf } from "@reins/testing/Faults"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { answersAtDeadlines, claimedCalls } from "@reins/testing/Volume"
import { Effect, Exit, Fiber, Schedule, Scope } from "effect"

const runner = systemActor("runner")

const lookup: FunctionTool = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

/** The failure of a call: the code of an error, or the place of what is malformed. */
const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error): unknown => {
    if (error instanceof ReinsError) return error.code
    return error instanceof RequestInvalid ? faultsOf(error).map(({ loc }) => loc.join(".")) : error
  })

/** A session whose message has a function, with what its agent and whoever has the function do. */
const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const interactions = yield* Interactions
  const journal = yield* Journal
  const turns = yield* Turns
  const store = yield* TurnStore
  const session = yield* (yield* Sessions).create(principal, workspaceId, {})
  const sent = yield* (yield* Messages).send(principal, session.id, {
    content: "Triage it.",
    tools: { functions: [lookup] }
  })
  /** The agent of a turn that begins: its calls end with the scope. */
  const begin = Effect.fnUntraced(function* (turnId: string) {
    const found = yield* store.find(turnId)
    if (found === undefined) return yield* Effect.dieMessage("there is no turn")
    for (const to of ["preparing", "running"] as const) yield* journal.commit(store.move(found.id, to, runner))
    const row = yield* (yield* SessionStore).find(session.id)
    if (row === undefined) return yield* Effect.dieMessage("there is no session")
    const scope = yield* Effect.acquireRelease(Scope.make(), (open) => Scope.close(open, Exit.void))
    const call = yield* Scope.extend((yield* ToolRuns).of(row, found), scope)
    let calls = 0
    return {
      turnId: found.id,
      offered: Effect.map((yield* ToolSources).offerOf(row), (offer) =>
        offer?.servers[0]?.tools.map(({ name }) => name)
      ),
      call: (input: unknown, call_id = `call-${++calls}`) =>
        call({ server: "reins", tool: "lookup_ticket", call_id, input, hears_progress: true }),
      /** Ends the process of the agent. */
      die: Scope.close(scope, Exit.void)
    }
  })
  const pending = Effect.map(
    interactions.list(principal, session.id, { state: "pending", limit: 100 }),
    ({ items }) => items
  )
  const asked = (count = 1) =>
    Effect.repeat(pending, { until: ({ length }) => length >= count, schedule: Schedule.spaced("5 millis") }).pipe(
      Effect.zipRight(pending)
    )
  const first = Effect.flatMap(asked(), ([interaction]) =>
    interaction === undefined ? Effect.dieMessage("nothing was asked") : Effect.succeed(interaction)
  )
  const answer = ({ id }: Pick<Interaction, "id">, input: InteractionAnswer) =>
    interactions.answer(principal, id, input)
  const claim = ({ id }: Pick<Interaction, "id">, holder: string, seconds = 60) =>
    interactions.claim(principal, id, { holder, seconds })
  const move = (turnId: string, to: "succeeded" | "failed" | "interrupted" | "cancelling") =>
    Effect.flatMap(store.find(turnId), (found) =>
      found === undefined ? Effect.dieMessage("there is no turn") : journal.commit(store.move(found.id, to, runner))
    )
  /** Writes a column of a call. */
  const set = (id: string, column: "claim" | "expires_at", value: string) =>
    Effect.flatMap(Database, ({ run, sql }) =>
      journal.commit(run(sql`update interactions set ${sql.update({ [column]: value })} where id = ${id}`))
    )
  const shown = { answer, asked, begin, claim, first, interactions, move, pending }
  return { ...shown, principal, sent, session, set, turns, workspaceId }
})

/** Answers that come a little after the deadline of their call, with it or before it. Each call gets one end, and no event is missing. */
const meetings = Effect.fnUntraced(function* (count: number) {
  const { answer, begin, first, interactions, pending, principal, sent, session, set } = yield* given
  const agent = yield* begin(sent.turn_id ?? "")
  const calls = yield* ToolCallStore
  const journal = yield* Journal
  for (let ticket = 0; ticket < count; ticket++) {
    const calling = yield* Effect.fork(agent.call({ ticket }))
    const call = yield* first
    yield* set(call.id, "expires_at", new Date(Date.now() + (ticket % 8)).toISOString())
    const expiry = Effect.zipRight(journal.commit(calls.expire(call.id)), pending).pipe(
      Effect.repeat({ until: ({ length }) => length === 0 })
    )
    const [given] = yield* Effect.all([Effect.either(answer(call, { result: ticket })), expiry], { concurrency: 2 })
    const { items } = yield* interactions.list(principal, session.id, { limit: 1 })
    if (given._tag === "Left") {
      assert.strictEqual(given.left instanceof ReinsError && given.left.code, "invalid_transition")
      assert.strictEqual(items[0]?.state, "expired")
      assert.include((yield* Fiber.join(calling)).text, "No program has taken the call")
    } else {
      assert.strictEqual(items[0]?.state, "answered")
      assert.strictEqual((yield* Fiber.join(calling)).text, String(ticket))
    }
  }
  const { all, sql } = yield* Database
  const events = yield* all(
    sql<{ seq: number; type: string }>`select seq, type from events where session_id = ${session.id} order by seq`
  )
  assert.deepStrictEqual(
    events.map(({ seq }) => Number(seq)),
    events.map((_, index) => index + 1)
  )
  assert.lengthOf(
    events.filter(({ type }) => type === "turn.action_required"),
    count
  )
  assert.lengthOf(
    events.filter(({ type }) => type === "turn.action_resolved"),
    count
  )
})

const longAgo = "2020-01-01T00:00:00.000Z"

for (const { layer, name } of flowDatabases) {
  describe(`functions of callers on ${name}`, () => {
    it.scopedLive("a long answer is cut in the middle, and the agent finds the whole below its home", () =>
      Effect.gen(function* () {
        const { answer, begin, first, sent, session } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const calling = yield* Effect.fork(agent.call({ ticket: 7 }))
        const whole = Array.from({ length: 30_000 }, (_, line) => `line ${line}`).join("\n")
        yield* answer(yield* first, { result: whole })
        const { text } = yield* Fiber.join(calling)
        assert.isBelow(text.length, defaultLimits.toolAnswerCharacters + 200)
        assert.isTrue(text.startsWith("line 0\n") && text.endsWith("line 29999"))
        const [, left, path] = /\[(\d+) characters are left out. The whole is in ~\/(\S+)\]/.exec(text) ?? []
        assert.strictEqual(Number(left), whole.length - defaultLimits.toolAnswerCharacters)
        const { home } = yield* pathsOf(session.id)
        assert.strictEqual(readFileSync(join(home, path ?? ""), "utf8"), whole)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("functions with which an agent would be offered too many tools are refused, with the counts", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* given
        const functions = (count: number, prefix: string) =>
          Array.from({ length: count }, (_, index) => ({ ...lookup, name: `${prefix}_${index}` }))
        const sessions = yield* Sessions
        const full = yield* sessions.create(principal, workspaceId, { tools: { functions: functions(50, "a") } })
        const messages = yield* Messages
        const send = (count: number) =>
          messages.send(principal, full.id, { content: "x", tools: { functions: functions(count, "b") } })
        const refused = yield* Effect.flip(send(50))
        assert.strictEqual(yield* failureOf(send(50)), "quota_exhausted")
        assert.include(refused.message, "offered 110 tools, and may be offered 100: 10 of the service, 100 functions")
        yield* send(40)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a call waits for its answer, which the agent gets, and the turn waits with it", () =>
      Effect.gen(function* () {
        const { answer, begin, first, principal, sent, turns } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        assert.include((yield* agent.offered) ?? [], "lookup_ticket")
        const refused = yield* agent.call({ ticket: "seven" })
        assert.isTrue(refused.is_error)
        assert.include(refused.text, "input.ticket: Input must be integer")
        const calling = yield* Effect.fork(agent.call({ ticket: 7 }))
        const interaction = yield* first
        assert.deepStrictEqual(interaction.tool, {
          name: "lookup_ticket",
          input: { ticket: 7 },
          call_id: "call-2",
          attempt: 1
        })
        assert.deepStrictEqual([interaction.kind, interaction.state, interaction.claim], ["tool_call", "pending", null])
        assert.strictEqual((yield* turns.get(principal, agent.turnId)).state, "requires_action")
        assert.deepStrictEqual(yield* failureOf(answer(interaction, { answer: "yes" })), ["body.answer"])
        assert.deepStrictEqual(yield* failureOf(answer(interaction, {})), ["body.result"])
        yield* answer(interaction, { result: { title: "Broken" } })
        const again = yield* answer(interaction, { result: { title: "Broken" } })
        assert.deepStrictEqual([again.state, again.result, again.is_error], ["answered", { title: "Broken" }, false])
        assert.strictEqual(yield* failureOf(answer(interaction, { result: "other" })), "invalid_transition")
        assert.deepStrictEqual(yield* Fiber.join(calling), { text: '{"title":"Broken"}', is_error: false })
        assert.strictEqual((yield* turns.get(principal, agent.turnId)).state, "running")
        const second = yield* Effect.fork(agent.call({ ticket: 8 }))
        const blocks = [
          { type: "text" as const, text: "A picture." },
          { type: "image" as const, data: "aGk=", mime_type: "image/png" }
        ]
        yield* answer(yield* first, { blocks, is_error: true })
        assert.deepStrictEqual(yield* Fiber.join(second), {
          text: "A picture.",
          is_error: true,
          images: [{ data: "aGk=", mime_type: "image/png" }]
        })
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("25 clients claim one call again and again, and one of them holds it each time", () =>
      Effect.gen(function* () {
        const { answer, begin, claim, first, sent, set } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const calling = yield* Effect.fork(agent.call({ ticket: 7 }))
        const call = yield* first
        const holders = Array.from({ length: 25 }, (_, index) => `holder ${index}`)
        const last = claimedCalls[name]
        for (let round = 1; round <= last; round++) {
          const claims = yield* Effect.forEach(holders, (holder) => Effect.either(claim(call, `${round} ${holder}`)), {
            concurrency: "unbounded"
          })
          const held = claims.flatMap((each) => (each._tag === "Right" ? [each.right] : []))
          assert.deepStrictEqual(
            held.map(({ attempt }) => attempt),
            [round]
          )
          const [mine] = held
          if (mine === undefined) return yield* Effect.dieMessage("nobody holds the call")
          if (round < last) {
            yield* set(call.id, "claim", JSON.stringify({ ...mine, holder: "somebody", until: longAgo }))
            continue
          }
          const { claim_id } = mine
          assert.strictEqual(yield* failureOf(answer(call, { result: 1 })), "already_claimed")
          const other = { result: 1, claim_id: yield* newId(ClaimId) }
          assert.strictEqual(yield* failureOf(answer(call, other)), "already_claimed")
          yield* answer(call, { result: "mine", claim_id })
        }
        assert.strictEqual((yield* Fiber.join(calling)).text, "mine")
        assert.strictEqual(yield* failureOf(claim(call, "late")), "invalid_transition")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("the same holder renews its claim, and another takes one that has run out", () =>
      Effect.gen(function* () {
        const { begin, claim, first, sent } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        yield* Effect.fork(agent.call({ ticket: 7 }))
        const call = yield* first
        const one = yield* claim(call, "one", 1)
        const again = yield* claim(call, "one", 1)
        assert.deepStrictEqual([again.claim_id, again.attempt], [one.claim_id, 1])
        assert.strictEqual(yield* failureOf(claim(call, "two")), "already_claimed")
        const taken = yield* Effect.retry(claim(call, "two"), Schedule.spaced("20 millis"))
        assert.deepStrictEqual([taken.attempt, taken.claim_id === one.claim_id], [2, false])
        assert.strictEqual((yield* first).tool?.attempt, 2)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("an answer and the deadline of a call meet, and one of them wins", () =>
      Effect.gen(function* () {
        // A turn makes 500 calls at most.
        for (let left = answersAtDeadlines; left > 0; left -= 250) yield* Effect.scoped(meetings(Math.min(left, 250)))
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      "an interrupted turn keeps its call, and the retry takes the answer that came meanwhile, and waits on for one that did not",
      () =>
        Effect.gen(function* () {
          const { answer, asked, begin, move, pending, principal, sent, turns } = yield* given
          const agent = yield* begin(sent.turn_id ?? "")
          yield* Effect.forkDaemon(agent.call({ ticket: 7 }))
          yield* Effect.forkDaemon(agent.call({ ticket: 8 }))
          const [newer, older] = yield* asked(2)
          const seven = [newer, older].find((each) => JSON.stringify(each?.tool?.input) === '{"ticket":7}')
          const eight = [newer, older].find((each) => each !== seven)
          yield* agent.die
          yield* move(agent.turnId, "interrupted")
          assert.lengthOf(yield* pending, 2)
          yield* answer({ id: (seven as Interaction).id }, { result: "Found." })
          const retry = yield* turns.retry(principal, agent.turnId)
          const next = yield* begin(retry.id)
          assert.include((yield* next.offered) ?? [], "lookup_ticket")
          assert.strictEqual((yield* next.call({ ticket: 7 })).text, "Found.")
          const waiting = yield* Effect.fork(next.call({ ticket: 8 }))
          yield* Effect.repeat(turns.get(principal, retry.id), {
            until: ({ state }) => state === "requires_action",
            schedule: Schedule.spaced("5 millis")
          })
          const open = yield* pending
          assert.deepStrictEqual(
            open.map(({ id, turn_id }) => [id, turn_id]),
            [[eight?.id, retry.id]]
          )
          yield* answer({ id: (eight as Interaction).id }, { result: "Found too." })
          assert.strictEqual((yield* Fiber.join(waiting)).text, "Found too.")
          // The second call of the same is another one.
          yield* Effect.fork(next.call({ ticket: 7 }))
          assert.lengthOf(yield* asked(1), 1)
        }).pipe(Effect.provide(services(layer)))
    )

    for (const end of ["succeeded", "failed", "cancelling"] as const)
      it.scopedLive(`a turn that is ${end} cancels its calls`, () =>
        Effect.gen(function* () {
          const { answer, begin, first, move, pending, sent } = yield* given
          const agent = yield* begin(sent.turn_id ?? "")
          yield* Effect.fork(agent.call({ ticket: 7 }))
          const call = yield* first
          if (end === "succeeded") {
            const interactions = yield* InteractionStore
            yield* (yield* Journal).commit(interactions.withdraw(agent.turnId, runner))
          }
          yield* move(agent.turnId, end)
          assert.isEmpty(yield* pending)
          assert.strictEqual(yield* failureOf(answer(call, { result: 1 })), "invalid_transition")
        }).pipe(Effect.provide(services(layer)))
      )

    it.scopedLive("an interrupted turn that is acknowledged and not tried again cancels its calls", () =>
      Effect.gen(function* () {
        const { begin, first, move, pending, principal, sent, turns } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        yield* Effect.forkDaemon(agent.call({ ticket: 7 }))
        yield* first
        yield* agent.die
        yield* move(agent.turnId, "interrupted")
        yield* turns.acknowledge(principal, agent.turnId)
        assert.isEmpty(yield* pending)
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a call that its agent has given up is taken up again by the same call, and asked once", () =>
      Effect.gen(function* () {
        const { answer, begin, first, pending, sent } = yield* given
        const agent = yield* begin(sent.turn_id ?? "")
        const lost = yield* Effect.fork(agent.call({ ticket: 7 }))
        const call = yield* first
        yield* Fiber.interrupt(lost)
        const again = yield* Effect.fork(agent.call({ ticket: 7 }))
        assert.lengthOf(yield* pending, 1)
        yield* answer(call, { result: "Found." })
        assert.strictEqual((yield* Fiber.join(again)).text, "Found.")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive(
      "functions are refused where they are given: a kept name, a schema of another type, an agent without tools",
      () =>
        Effect.gen(function* () {
          const { principal, session, workspaceId } = yield* given
          const messages = yield* Messages
          const refused = (tool: Partial<FunctionTool>, routing?: "note") =>
            failureOf(
              messages.send(principal, session.id, {
                content: "x",
                tools: { functions: [{ ...lookup, ...tool }] },
                ...(routing && { routing })
              })
            )
          assert.deepStrictEqual(
            yield* refused({ input_schema: { type: "object", properties: { a: { type: "strin" } } } }),
            ["body.tools.functions.0.input_schema"]
          )
          assert.deepStrictEqual(yield* refused({}, "note"), ["body.tools"])
          const own = yield* (yield* Sessions).create(principal, workspaceId, {
            tools: { own: ["delegate"], functions: [lookup] }
          })
          const row = yield* (yield* SessionStore).find(own.id)
          const offer = row && (yield* (yield* ToolSources).offerOf(row))
          assert.deepStrictEqual(
            offer?.servers[0]?.tools.map((tool) => tool.name),
            ["lookup_ticket", "delegate", "await_call"]
          )
          const none = yield* (yield* Sessions).create(principal, workspaceId, { tools: { own: [] } })
          const without = yield* (yield* SessionStore).find(none.id)
          assert.isUndefined(without && (yield* (yield* ToolSources).offerOf(without)))
        }).pipe(Effect.provide(services(layer)))
    )
  })
}
