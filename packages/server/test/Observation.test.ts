import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Journal } from "@reins/core/store/Journal"
import { Webhooks } from "@reins/core/webhooks/Webhooks"
import { HttpServer, Observation } from "@reins/server"
import { localServer } from "@reins/testing/connections/LocalServer"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { within } from "@reins/testing/MachineTime"
import { Context, Effect, Exit, HashMap, Layer, Logger, Stream } from "effect"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { send } from "./Service.js"

type Line = Readonly<Record<string, unknown>>

const lines: Array<Line> = []
const logs = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ annotations, message }) => {
    lines.push({ message: [message].flat().join(" "), ...Object.fromEntries(HashMap.toEntries(annotations)) })
  })
)

class Gateway extends Context.Tag("@reins/server/test/Observation/Gateway")<Gateway, { readonly url: string }>() {
  static readonly layer = Layer.scoped(
    Gateway,
    Effect.acquireRelease(
      Effect.promise(() => startGateway({ apiKey: "sk-test" })),
      (open) => Effect.promise(() => open.close())
    )
  )
}

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-observed-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const served = Layer.unwrapScoped(
  Effect.map(directory, (dataDir) =>
    HttpServer.layer({ port: 0, notice: 0, metrics: true, trustedProxies: ["127.0.0.1"] }).pipe(
      Layer.provideMerge(
        Embedded.layer(
          { dataDir, allowPrivateHosts: ["127.0.0.1"], executors: ["local"], prewarm: false },
          { manifests: smallAgents }
        )
      ),
      Layer.provideMerge(Gateway.layer),
      Layer.provide([Observation.layer, logs, PasswordCost.layerTest])
    )
  )
)

/** A session whose agent asks the gateway with the key. */
const sessionWith = (apiKey: string) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    const connections = yield* Connections
    const { url } = yield* Gateway
    // A session takes the newest connection.
    yield* connections.create(principal, workspaceId, {
      kind: "alpha_gateway",
      label: apiKey,
      credential: { base_url: url, api_key: apiKey }
    })
    const session = yield* (yield* Sessions).create(principal, workspaceId, {
      harness: { provider_id: "alpha", model: "scripted-1" }
    })
    return { principal, sessionId: session.id }
  })

/** Waits for the first event of a session that is one of the types. */
const until = (sessionId: string, ...types: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const feed = yield* EventFeed
    yield* feed.stream(principal, sessionId, { after: 0 }).pipe(
      Stream.takeUntil(({ type }) => types.includes(type)),
      Stream.runDrain,
      within(60)
    )
  })

const ends = ["turn.succeeded", "turn.failed", "turn.cancelled", "turn.interrupted"]

/** The line that is about it. It is written after the commit whose event says the same, so it may come a moment later. */
const lineOf = (wanted: Line): Effect.Effect<Line> =>
  Effect.suspend(() => {
    const found = lines.find((line) => Object.entries(wanted).every(([name, value]) => line[name] === value))
    return found === undefined ? Effect.zipRight(Effect.yieldNow(), lineOf(wanted)) : Effect.succeed(found)
  }).pipe(Effect.delay("1 millis"))

/** The value of the one sample that has the name and all labels; 0 when there is none. */
const sample = (text: string, name: string, labels: Line = {}): number =>
  Number(
    text
      .split("\n")
      .find(
        (line) =>
          new RegExp(`^${name}[ {]`).test(line) &&
          Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`))
      )
      ?.split(" ")
      .at(-1) ?? 0
  )

const page = Effect.map(send("GET", "/metrics"), ({ text }) => text)

layer(served, { excludeTestServices: true })("what has come to an end", (it) => {
  it.effect("of a turn, its delivery and their jobs has a line and is counted", () =>
    Effect.gen(function* () {
      const before = yield* page
      const { principal, sessionId } = yield* sessionWith("sk-test")
      const content = script("Write it.", { tool: "write", path: "a.txt", content: "one\n" }, { say: "A secret word." })
      const { turn_id } = yield* (yield* Messages).send(principal, sessionId, { content })
      yield* until(sessionId, "changeset.ready")
      const turn = yield* (yield* Turns).get(principal, turn_id ?? "")
      const told = yield* lineOf({ message: "turn ended", turn_id })
      assert.include(told, {
        session_id: sessionId,
        provider: "alpha",
        model: "scripted-1",
        state: "succeeded",
        reason: null
      })
      assert.isNumber(told["ms"])
      const job = yield* lineOf({ message: "job ended", subject: turn_id })
      assert.include(job, { state: "succeeded", attempt: 1, reason: null })

      const { items } = yield* (yield* Changesets).list(principal, sessionId, { limit: 1 })
      const { delivery } = yield* (yield* Deliveries).request(principal, items[0]?.id ?? "", { transport: "patch" })
      yield* until(sessionId, "delivery.succeeded", "delivery.failed", "delivery.blocked")
      assert.include(yield* lineOf({ message: "delivery ended", delivery_id: delivery.id }), {
        session_id: sessionId,
        transport: "patch",
        state: "succeeded",
        reason: null
      })
      yield* lineOf({ message: "job ended", subject: delivery.id })
      assert.notInclude(JSON.stringify(lines), "secret word")

      const after = yield* page
      const grown = (name: string, labels: Line) => sample(after, name, labels) - sample(before, name, labels)
      const provider = "alpha"
      assert.strictEqual(grown("reins_turns_ended_total", { provider, state: "succeeded", reason: "none" }), 1)
      assert.strictEqual(grown("reins_turn_queue_wait_seconds_count", { provider }), 1)
      assert.strictEqual(grown("reins_turn_duration_seconds_count", { provider, state: "succeeded" }), 1)
      assert.strictEqual(grown("reins_tokens_total", { provider, kind: "input" }), turn.usage.input_tokens)
      assert.strictEqual(grown("reins_tokens_total", { provider, kind: "output" }), turn.usage.output_tokens)
      assert.isAbove(turn.usage.output_tokens ?? 0, 0)
      assert.strictEqual(grown("reins_deliveries_ended_total", { transport: "patch", state: "succeeded" }), 1)
      assert.strictEqual(grown("reins_jobs_ended_total", { kind: String(job["kind"]), state: "succeeded" }), 1)
    })
  )

  it.scoped("of a delivery to a webhook endpoint is counted, and so is what waits for it", () =>
    Effect.gen(function* () {
      const { principal, workspaceId } = yield* Embedded.owner
      const webhooks = yield* Webhooks
      const statuses = [500, 410]
      const { url } = yield* localServer((_, response) => response.writeHead(statuses.shift() ?? 204).end())
      const before = yield* page
      const endpoint = yield* webhooks.create(principal, workspaceId, { url, types: ["session.created"] })
      const attempted = (count: number) =>
        Effect.repeat(page, {
          until: (text) => sample(text, duration) - sample(before, duration) === count
        })
      const duration = "reins_webhook_attempt_duration_seconds_count"
      yield* sessionWith("sk-test")
      const waiting = yield* attempted(1)
      assert.strictEqual(sample(waiting, "reins_webhook_deliveries_pending", { endpoint: "enabled" }), 1)
      const { items } = yield* webhooks.deliveries(principal, endpoint.id, {})
      yield* webhooks.retry(principal, items[0]?.id ?? "")
      yield* attempted(2)
      yield* lineOf({ message: "a webhook endpoint was disabled", webhook_endpoint_id: endpoint.id, reason: "gone" })
      const disabled = yield* page
      assert.strictEqual(sample(disabled, "reins_webhook_deliveries_pending", { endpoint: "disabled" }), 1)
      yield* webhooks.update(principal, endpoint.id, { state: "enabled" })
      yield* webhooks.test(principal, endpoint.id)
      const after = yield* attempted(4)
      const grown = (name: string, labels: Line) => sample(after, name, labels) - sample(before, name, labels)
      const attempts = "reins_webhook_attempts_total"
      assert.strictEqual(grown(attempts, { state: "pending", status: "5xx" }), 1)
      assert.strictEqual(grown(attempts, { state: "pending", status: "4xx" }), 1)
      assert.strictEqual(grown(attempts, { state: "succeeded", status: "2xx" }), 2)
      assert.strictEqual(grown("reins_webhook_endpoints_disabled_total", { reason: "gone" }), 1)
      yield* webhooks.remove(principal, endpoint.id)
    })
  )

  it.effect("of a turn that failed or was cancelled says why", () =>
    Effect.gen(function* () {
      const before = yield* page
      const { principal, sessionId } = yield* sessionWith("sk-wrong")
      const { turn_id: failed } = yield* (yield* Messages).send(principal, sessionId, { content: "Hello." })
      yield* until(sessionId, ...ends)
      const { reason } = yield* (yield* Turns).get(principal, failed ?? "")
      assert.isNotNull(reason)
      assert.include(yield* lineOf({ message: "turn ended", turn_id: failed }), { state: "failed", reason })

      const slow = yield* sessionWith("sk-test")
      const content = script("Wait.", { hang: true })
      const messages = yield* Messages
      const first = yield* messages.send(principal, slow.sessionId, { content })
      const second = yield* messages.send(principal, slow.sessionId, { content: "Never." })
      const turns = yield* Turns
      for (const { turn_id } of [second, first]) yield* turns.cancel(principal, turn_id ?? "")
      for (const { turn_id } of [second, first]) {
        assert.include(yield* lineOf({ message: "turn ended", turn_id }), {
          state: "cancelled",
          reason: "user_cancelled"
        })
        assert.include(yield* lineOf({ message: "job ended", subject: turn_id }), {
          state: "cancelled",
          reason: "cancelled"
        })
      }
      const after = yield* page
      const grown = (labels: Line) =>
        sample(after, "reins_turns_ended_total", labels) - sample(before, "reins_turns_ended_total", labels)
      assert.strictEqual(grown({ provider: "alpha", state: "failed", reason }), 1)
      assert.strictEqual(grown({ provider: "alpha", state: "cancelled", reason: "user_cancelled" }), 2)
    })
  )

  it.effect("of a request names the client, as a trusted proxy tells it", () =>
    Effect.gen(function* () {
      yield* send("GET", "/api/nowhere", { headers: { "x-request-id": "from-afar", "x-forwarded-for": "203.0.113.9" } })
      assert.include(yield* lineOf({ message: "request", request_id: "from-afar" }), {
        client: "203.0.113.9",
        status: 404
      })
      yield* send("GET", "/api/nowhere", { headers: { "x-request-id": "from-here" } })
      assert.include(yield* lineOf({ message: "request", request_id: "from-here" }), { client: "127.0.0.1" })
    })
  )

  it.effect("is told after its commit, and not of a commit that fails", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const told: Array<string> = []
      const tell = (word: string) => Effect.sync(() => void told.push(word))
      const failed = yield* Effect.exit(
        journal.commit(Effect.zipRight(journal.afterCommit(tell("never")), Effect.fail("no")))
      )
      assert.isTrue(Exit.isFailure(failed))
      yield* journal.commit(Effect.zipRight(journal.afterCommit(tell("after")), tell("inside")))
      assert.deepStrictEqual(told, ["inside", "after"])
    })
  )
})
