import { assert } from "@effect/vitest"
import { Bell } from "@reins/core/store/Bell"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { aMoment, aWhile } from "@reins/testing/process/Waiting"
import { notifications } from "@reins/testing/store/Notifications"
import { Effect } from "effect"
import { Caller } from "../Service.js"
import { append, newSession, openStream } from "../Sessions.js"
import { nodesOf, type TestNode } from "./Nodes.js"

sandboxed("a commit notifies nobody while no other node has a reader of its session", () =>
  Effect.gen(function* () {
    const [a, b, c] = yield* nodesOf(["a", "b", "c"])
    const { events, sessionId, watermark } = yield* a.on(newSession)
    const { bearer } = yield* a.on(Caller)
    const notified = yield* notifications(a.url)
    const open = (node: TestNode) =>
      Effect.acquireRelease(node.on(openStream(`${events}?after=${watermark}`, bearer)), ({ close }) =>
        Effect.sync(close)
      )
    const topic = `session:${sessionId}`
    /** Rings something that is heard, so that all that was rung before is told by then. */
    let rings = 0
    const told = Effect.gen(function* () {
      const last = `last:${++rings}`
      const stop = yield* b.on(Effect.map(Bell, (bell) => bell.listen(last, () => {})))
      const ring = Effect.zipRight(a.on(Effect.flatMap(Bell, (bell) => bell.ring(last))), aMoment)
      yield* Effect.repeat(ring, { until: () => notified.includes(last) })
      stop()
    })

    // A reader of the node that commits needs no notification, and the node of no reader gets none.
    const own = yield* open(a)
    yield* a.on(append(sessionId, 1))
    yield* own.until(({ id }) => id === String(watermark + 1))
    yield* told
    assert.notInclude(notified, topic)

    const other = yield* open(b)
    yield* other.until(({ id }) => id === String(watermark + 1))
    yield* a.on(append(sessionId, 1))
    yield* other.until(({ id }) => id === String(watermark + 2))
    yield* told
    assert.include(notified, topic)

    other.close()
    const before = notified.filter((each) => each === topic).length
    // The last notification goes out once the node has seen that its reader is gone.
    const isQuiet = Effect.gen(function* () {
      const so = notified.filter((each) => each === topic).length
      yield* c.on(append(sessionId, 1))
      yield* told
      return notified.filter((each) => each === topic).length === so
    })
    own.close()
    yield* Effect.repeat(Effect.zipRight(aWhile, isQuiet), { until: (quiet) => quiet })
    assert.isAtLeast(before, 1)
  })
)
