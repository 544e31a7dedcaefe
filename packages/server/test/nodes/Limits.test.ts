import { assert } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { aMoment } from "@reins/testing/process/Waiting"
import { Effect } from "effect"
import { Caller, change, codeOf, type Reply, send } from "../Service.js"
import { newSession, openStream } from "../Sessions.js"
import { nodesOf, type TestNode } from "./Nodes.js"

/** Two nodes whose callers may make so many requests a minute, and one of these callers. */
const limitedTo = Effect.fnUntraced(function* (requests: number) {
  const [a, b] = yield* nodesOf(["a", "b"], { rate_limit: String(requests) })
  const { bearer: headers } = yield* a.on(Caller)
  return { a, b, ask: (node: TestNode) => node.on(send("GET", "/api/limits", { headers })) }
})

const letThrough = (replies: ReadonlyArray<Reply>) => replies.filter(({ status }) => status === 200).length

/** Runs an effect, and gives the requests that a bucket of so many a minute has got meanwhile as well. */
const whileFilling = <A>(perMinute: number, effect: Effect.Effect<A>) =>
  Effect.gen(function* () {
    const begun = performance.now()
    const result = yield* effect
    return { result, filled: ((performance.now() - begun) / 60_000) * perMinute }
  })

const leftIn = ({ headers }: Reply) => Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1])

sandboxed("a caller of one node has the whole limit, and what it uses there is gone at the other", () =>
  Effect.gen(function* () {
    const { a, ask, b } = yield* limitedTo(20)
    const first = yield* whileFilling(20, Effect.replicateEffect(ask(a), 10))
    assert.strictEqual(letThrough(first.result), 10)
    assert.isAtMost(leftIn(first.result.at(-1) ?? assert.fail()), 10 + first.filled)
    const rest = yield* whileFilling(
      20,
      Effect.gen(function* () {
        // The first answer of a node tells by what it knows, and it then learns of the others.
        yield* Effect.repeat(ask(b), { until: (reply) => leftIn(reply) <= 10 + first.filled })
        return yield* Effect.all(
          Array.from({ length: 30 }, () => ask(a)),
          { concurrency: "unbounded" }
        )
      })
    )
    assert.isAtMost(letThrough(rest.result), 10 + Math.ceil(first.filled + rest.filled))
    const refused = rest.result.find(({ status }) => status === 429) ?? assert.fail("nothing was refused")
    assert.deepStrictEqual([codeOf(refused), leftIn(refused)], ["rate_limited", 0])
    // A request takes three seconds to be filled in, after the one that each node may have let through too much.
    const seconds = Number(refused.headers.get("retry-after"))
    assert.isTrue(seconds >= 1 && seconds <= 9, String(seconds))
  })
)

sandboxed(
  "callers of several nodes at once get the limit and a sixtieth of it for each node at most, and pay it back",
  () =>
    Effect.gen(function* () {
      const { a, ask, b } = yield* limitedTo(120)
      const burst = Effect.all(
        Array.from({ length: 200 }, (_, index) => ask(index % 2 === 0 ? a : b)),
        { concurrency: "unbounded" }
      )
      const first = yield* whileFilling(120, burst)
      assert.isAtLeast(letThrough(first.result), 120)
      assert.isAtMost(letThrough(first.result), 120 + 2 * 2 + Math.ceil(first.filled))
      for (const { headers, status } of first.result)
        if (status === 429) assert.isAtLeast(Number(headers.get("retry-after")), 1)
      // Nothing is given beyond the limit in the long run.
      const then = yield* whileFilling(120, Effect.replicateEffect(ask(b), 20))
      const sum = letThrough(first.result) + letThrough(then.result)
      assert.isAtMost(sum, 120 + 2 * 2 + Math.ceil(first.filled + then.filled))
    })
)

sandboxed("a node that cannot count with the others goes by its own count, and tells of it later", () =>
  Effect.gen(function* () {
    const { a, ask, b } = yield* limitedTo(20)
    const sql = (statement: string) => a.on(Effect.flatMap(Database, (db) => db.run(db.sql.unsafe(statement))))
    yield* sql("alter table request_credit rename to out_of_reach")
    const each = (node: TestNode) => Effect.replicateEffect(ask(node), 30)
    const { filled, result } = yield* whileFilling(20, Effect.all([each(a), each(b)], { concurrency: 2 }))
    for (const replies of result) {
      assert.isAtLeast(letThrough(replies), 20)
      assert.isAtMost(letThrough(replies), 20 + Math.ceil(filled))
    }
    yield* sql("alter table out_of_reach rename to request_credit")
    // Both are told what the other one has let through: nearly a minute's worth too much.
    for (const node of [a, b]) {
      const again = Effect.zipRight(aMoment, ask(node))
      yield* Effect.repeat(again, { until: ({ headers }) => Number(headers.get("retry-after")) > 10 })
    }
  })
)

sandboxed("streams of a caller on a session count at all nodes together, without those of lost nodes", () =>
  Effect.gen(function* () {
    // Leases are long, so that the one that is taken away below does not come back meanwhile.
    const settings = { rate_limit: "10000", streams_per_session: "3", node_lease_seconds: "60" }
    const [a, b] = yield* nodesOf(["a", "b"], settings)
    const { events } = yield* a.on(newSession)
    const { bearer } = yield* a.on(Caller)
    const open = (node: TestNode) =>
      Effect.acquireRelease(node.on(openStream(events, bearer)), ({ close }) => Effect.sync(close))
    /** Opens a stream once there is a seat for it. */
    const seated = (node: TestNode) => {
      const again = Effect.zipRight(aMoment, open(node))
      return Effect.repeat(again, { until: ({ status }) => status === 200 })
    }
    const opened = yield* Effect.all([open(a), open(b), open(a), open(b), open(a)], { concurrency: "unbounded" })
    assert.sameMembers(
      opened.map(({ status }) => status),
      [200, 200, 200, 429, 429]
    )
    for (const { close } of opened) close()

    const last = yield* Effect.all([seated(a), seated(a), seated(b)])
    for (const node of [a, b]) {
      const refused = yield* node.on(send("GET", events, { headers: { ...bearer, accept: "text/event-stream" } }))
      assert.deepStrictEqual([refused.status, codeOf(refused)], [429, "rate_limited"])
      assert.deepInclude(Object(refused.json).error.details, { limit: 3 })
    }
    last[2].close()
    yield* seated(b)
    assert.strictEqual((yield* open(b)).status, 429)

    yield* b.on(Effect.flatMap(Database, ({ run, sql }) => run(sql`update nodes set expires_at = 0 where name = 'a'`)))
    const freed = yield* Effect.all([open(b), open(b), open(b)])
    assert.deepStrictEqual(
      freed.map(({ status }) => status),
      [200, 200, 429]
    )
  })
)

sandboxed("registrations of a client that come to several nodes at once are counted one by one", () =>
  Effect.gen(function* () {
    const [a, b] = yield* nodesOf(["a", "b"], { rate_limit: "10000", registrations_per_hour: "3" })
    const register = (node: TestNode, person: number) =>
      node.on(
        change("POST", "/api/auth/register", {
          body: { email: `stranger${person}@example.com`, password: "a quiet heron at noon" }
        })
      )
    const replies = yield* Effect.all(
      Array.from({ length: 10 }, (_, person) => register(person % 2 === 0 ? a : b, person)),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(
      replies.map(({ status }) => status).sort((x, y) => x - y),
      [202, 202, 202, 429, 429, 429, 429, 429, 429, 429]
    )
  })
)
