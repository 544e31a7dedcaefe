import { assert } from "@effect/vitest"
import { MessageId, newId, type SessionId, TurnId } from "@reins/base/domain/Ids"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Placements } from "@reins/core/placement/Placements"
import { Journal } from "@reins/core/store/Journal"
import { sealOf } from "@reins/server/http/middleware/ForwardSeal"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { aMoment } from "@reins/testing/process/Waiting"
import { Clock, Effect } from "effect"
import { Caller, codeOf, send } from "../Service.js"
import { append, newSession, openStream } from "../Sessions.js"
import { nodesOf, type TestNode } from "./Nodes.js"

const until = (holds: () => boolean) => Effect.repeat(aMoment, { until: holds })

/** Gives a session to a node, as when somebody needs its files. */
const place = (node: TestNode, sessionId: SessionId) =>
  node.on(
    Effect.flatMap(Effect.all([Journal, Placements]), ([{ commit }, placements]) =>
      commit(Effect.zipRight(placements.place(sessionId, node.name), placements.restored(sessionId)))
    )
  )

const leave = (node: TestNode, sessionId: SessionId) =>
  node.on(
    Effect.flatMap(Effect.all([Journal, Placements]), ([{ commit }, placements]) => commit(placements.leave(sessionId)))
  )

/** Says numbered words on a node, as its agent does. */
const sayer = Effect.fnUntraced(function* (session_id: SessionId) {
  const [turn_id, message_id] = [yield* newId(TurnId), yield* newId(MessageId)]
  let offset = 0
  return (node: TestNode, text = "w") =>
    node.on(
      Effect.flatMap(EventFeed, ({ whisper }) =>
        whisper({ session_id, turn_id, message_id, part_key: "text:m", kind: "text", offset: offset++, text })
      )
    )
})

/** A reader of a stream on a node, with the numbers of the words and the events that it got. */
const reading = Effect.fnUntraced(function* (node: TestNode, path: string, bearer: { readonly authorization: string }) {
  const heard: Array<number> = []
  const logged: Array<number> = []
  const stream = yield* Effect.acquireRelease(node.on(openStream(path, bearer)), ({ close }) => Effect.sync(close))
  const listening = stream.until(({ data = "", event, id }) => {
    if (event === "message.delta") heard.push(JSON.parse(data).offset)
    if (id !== undefined) logged.push(Number(id))
    return false
  })
  yield* Effect.forkScoped(Effect.sandbox(listening))
  return { heard, logged, close: stream.close }
})

type Reader = Effect.Effect.Success<ReturnType<typeof reading>>

/** Says words until each reader has heard one. */
const heardBy = (readers: ReadonlyArray<Reader>, say: Effect.Effect<void>) => {
  const before = readers.map(({ heard }) => heard.length)
  return Effect.repeat(Effect.zipRight(say, aMoment), {
    until: () => readers.every(({ heard }, index) => heard.length > (before[index] ?? 0))
  })
}

/** The words came in the order in which they were said, without a gap since the first of them. */
const assertInOrder = ({ heard }: Reader) => {
  const [first = 0] = heard
  assert.deepStrictEqual(
    heard,
    heard.map((_, index) => first + index)
  )
}

const given = Effect.gen(function* () {
  const [a, b] = yield* nodesOf(["a", "b"])
  const { events, sessionId, watermark } = yield* a.on(newSession)
  const { bearer } = yield* a.on(Caller)
  const read = (node: TestNode, query = "&deltas=true") => reading(node, `${events}?after=${watermark}${query}`, bearer)
  return { a, b, sessionId, watermark, read, say: yield* sayer(sessionId) }
})

sandboxed(
  "readers of a node share one stream of deltas from the node that has the session, which ends with the last",
  () =>
    Effect.gen(function* () {
      const { a, b, read, say, sessionId, watermark } = yield* given
      yield* place(a, sessionId)
      const [first, second, here, plain] = [yield* read(b), yield* read(b), yield* read(a), yield* read(b, "")]
      yield* heardBy([first, second, here], say(a))
      const readers = [first, second, here]
      for (let count = 0; count < 50; count++) yield* heardBy(readers, say(a))
      yield* a.on(append(sessionId, 1))
      yield* until(() => [...readers, plain].every(({ logged }) => logged.includes(watermark + 1)))
      for (const reader of readers) assertInOrder(reader)
      assert.deepStrictEqual(plain.heard, [])
      assert.deepStrictEqual([a.way.connections(), b.way.connections().ever], [{ open: 1, ever: 1 }, 0])
      first.close()
      yield* heardBy([second], say(a))
      assert.strictEqual(a.way.connections().open, 1)
      second.close()
      yield* until(() => a.way.connections().open === 0)
    })
)

sandboxed("readers hear a session wherever it goes, and again after a broken connection", () =>
  Effect.gen(function* () {
    const { a, b, read, say, sessionId, watermark } = yield* given
    // Nobody has the session yet.
    const readers = [yield* read(a), yield* read(b)]
    yield* place(a, sessionId)
    yield* a.on(append(sessionId, 1))
    yield* heardBy(readers, say(a))
    a.way.cut()
    yield* heardBy(readers, say(a))

    yield* leave(a, sessionId)
    yield* until(() => a.way.connections().open === 0)
    yield* place(b, sessionId)
    yield* b.on(append(sessionId, 1))
    yield* heardBy(readers, say(b))
    assert.deepStrictEqual([a.way.connections().open, b.way.connections().open], [0, 1])
    yield* until(() => readers.every(({ logged }) => logged.at(-1) === watermark + 2))
    for (const { logged } of readers) assert.deepStrictEqual(logged, [watermark + 1, watermark + 2])
  })
)

sandboxed("readers hear a session that goes elsewhere because its node is lost", () =>
  Effect.gen(function* () {
    const [a, b, c] = yield* nodesOf(["a", "b", "c"], { node_reclaim_seconds: "0" })
    const { events, sessionId, watermark } = yield* c.on(newSession)
    const { bearer } = yield* c.on(Caller)
    yield* place(a, sessionId)
    const reader = yield* reading(c, `${events}?after=${watermark}&deltas=true`, bearer)
    const say = yield* sayer(sessionId)
    yield* heardBy([reader], say(a))
    yield* a.stop
    // The log goes on while nobody has the session.
    yield* c.on(append(sessionId, 1))
    yield* until(() => reader.logged.includes(watermark + 1))
    yield* place(b, sessionId)
    yield* b.on(append(sessionId, 1))
    yield* heardBy([reader], say(b))
    yield* until(() => reader.logged.includes(watermark + 2))
    assert.deepStrictEqual(reader.logged, [watermark + 1, watermark + 2])
  })
)

sandboxed("a node that takes nothing holds up no reader of another one", () =>
  Effect.gen(function* () {
    const { a, b, read, say, sessionId, watermark } = yield* given
    yield* place(a, sessionId)
    const [here, there] = [yield* read(a), yield* read(b)]
    yield* heardBy([here, there], say(a))
    a.way.hold()
    const soFar = here.heard.length
    for (let count = 0; count < 100; count++) {
      yield* say(a, "w".repeat(100_000))
      // The connection of this reader has to get away what is said.
      yield* until(() => here.heard.length === soFar + count + 1)
    }
    yield* a.on(append(sessionId, 3))
    yield* until(() => [here, there].every(({ logged }) => logged.at(-1) === watermark + 3))
    assertInOrder(here)
  })
)

sandboxed("the streams between nodes are for nodes alone, and for a moment", () =>
  Effect.gen(function* () {
    const { a, b, sessionId } = yield* given
    yield* place(a, sessionId)
    const now = yield* Clock.currentTimeMillis
    const ask = (node: TestNode, until: number, headers: Readonly<Record<string, string>>) =>
      node.on(send("GET", `/internal/sessions/${sessionId}/deltas?until=${until}`, { headers }))
    const sealed = (until: number, sealedUntil = until) =>
      b.on(
        Effect.map(KeyRing, (ring) => {
          const seal = sealOf(ring)
          const url = `/internal/sessions/${sessionId}/deltas?until=${sealedUntil}`
          return {
            [seal.header]: seal.make({ method: "GET", url }, { node: "b", clientAddress: "b", isForApps: false })
          }
        })
      )
    const soon = now + 10_000
    const { bearer } = yield* a.on(Caller)
    for (const [until, headers] of [
      [soon, {}],
      [soon, bearer],
      [soon, { "x-reins-from": "YQ.YQ" }],
      [now - 1, yield* sealed(now - 1)],
      [now + 3_600_000, yield* sealed(now + 3_600_000)],
      [soon, yield* sealed(soon, soon + 1)]
    ] as const) {
      const refused = yield* ask(a, until, headers)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [404, "not_found"])
    }
    // A node that does not have the session says so, and is asked again later.
    const elsewhere = yield* ask(b, soon, yield* sealed(soon))
    assert.deepStrictEqual([elsewhere.status, codeOf(elsewhere)], [503, "waiting_capacity"])
  })
)
