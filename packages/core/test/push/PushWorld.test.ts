import { assert, describe, layer as layerOf } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import * as Follower from "@reins/core/events/Follower"
import { notifier } from "@reins/core/push/Notifier"
import { PushStore } from "@reins/core/push/PushStore"
import { PushSubscriptions } from "@reins/core/push/PushSubscriptions"
import { newPushKey } from "@reins/core/push/VapidKeys"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Journal } from "@reins/core/store/Journal"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { newBrowser } from "@reins/testing/push/PushService"
import { flowDatabases } from "@reins/testing/store/Databases"
import type { Answer, Change } from "@reins/testing/world/Answer"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { openSpeaker } from "@reins/testing/world/Speaker"
import { Effect, Layer, Redacted } from "effect"
import { events, newSession } from "../events/Sessions.js"
import { eventually } from "../webhooks/Endpoints.js"

const services = (database: (typeof flowDatabases)[number]["layer"]) =>
  PushSubscriptions.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(PushStore.layer, SessionStore.layer)),
    Layer.provideMerge(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })),
    Layer.provideMerge(events(database)),
    Layer.provideMerge(
      CoreConfig.layer({
        dataDir: "/nonexistent",
        pushKey: Redacted.make(newPushKey()),
        mailFrom: "Reins <reins@example.com>"
      })
    )
  )

const changed = (name: string, kind: Change["kind"], edit: Partial<Answer>): Change => ({
  name,
  kind,
  apply: (answer) => ({ ...answer, ...edit })
})

/** `lost` is an answer by which the service forgets a browser. After any other one the browser is told of what comes next. */
const changes: ReadonlyArray<Change> = [
  ...[200, 202, 204, 299].map((status) => changed(`${status}`, "same", { status })),
  changed("a page of HTML", "same", { headers: { "content-type": "text/html" }, text: "<html></html>" }),
  changed("a body of 100,000 characters", "same", { text: "a.".repeat(50_000) }),
  changed("a body of control and turned characters", "same", { text: "\u0007\u001b[31m\u202e" }),
  changed("in two halves, 80 ms between", "same", { text: "{}", pauseMs: 80 }),
  changed("late", "same", { delayMs: 400 }),
  changed("a body cut off in its middle", "same", { text: "x".repeat(1000), cut: 0.5 }),
  ...[301, 307, 308].map((status) =>
    changed(`${status} to elsewhere`, "element", { status, headers: { location: "http://127.0.0.1:9/elsewhere" } })
  ),
  ...[402, 405, 406, 409, 413, 418, 422].map((status) => changed(`${status}`, "element", { status })),
  ...[400, 401, 403, 404, 410].map((status) => changed(`${status}`, "lost", { status })),
  changed("404 with a page of HTML", "lost", { status: 404, text: "<html></html>" }),
  changed("410 cut off", "lost", { status: 410, text: "x".repeat(1000), cut: 0.5 })
]

for (const { layer, name } of flowDatabases) {
  describe(`the world of push services on ${name}`, () => {
    layerOf(services(layer), { excludeTestServices: true })((it) => {
      it.scoped("their answers", () =>
        Effect.gen(function* () {
          const subscriptions = yield* PushSubscriptions
          const journal = yield* Journal
          const speaker = yield* openSpeaker(() => ({ status: 201, headers: {}, text: "" }))
          const happen = (sessionId: SessionId) =>
            journal.commit(
              journal.append(sessionId, { kind: "system", id: "test" }, [
                { type: "turn.succeeded", payload: {} as never }
              ])
            )
          const { tried, wrong } = yield* tryBorder({
            name: `push services on ${name}: the answers`,
            changes: name === "SQLite" ? changes : tenthOf(changes),
            ask: (change) =>
              Effect.gen(function* () {
                const { principal, sessionId, workspaceId } = yield* newSession
                const endpoint = `${speaker.url}/send/${sessionId}`
                yield* subscriptions.subscribe(principal, workspaceId, { endpoint, ...newBrowser().keys })
                const standing = Effect.map(
                  subscriptions.list(principal, workspaceId, { limit: 50 }),
                  ({ items }) => items.length
                )
                const told = Effect.sync(() => speaker.asked.filter(({ path }) => path.endsWith(sessionId)).length)
                speaker.change = change
                yield* happen(sessionId)
                yield* eventually(told, (count) => count > 0)
                if (change.kind === "lost") {
                  yield* eventually(standing, (count) => count === 0)
                  return (yield* told) === 1 ? [] : ["it is asked again"]
                }
                speaker.change = undefined
                yield* happen(sessionId)
                yield* eventually(told, (count) => count > 1)
                return (yield* standing) === 1 ? [] : ["the browser is forgotten"]
              }).pipe(Effect.orDie)
          })
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(tried, 1)
        }).pipe(Effect.provide(Follower.layerOf([notifier])))
      )
    })
  })
}
