import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { cutText } from "@reins/base/base/CutText"
import { remote, token } from "@reins/testing/changes/Fixture"
import type { CollectedSpan } from "@reins/testing/otlp/OtlpCollector"
import { gatewayKey } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { beginTurn, endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { conventions } from "./Conventions.js"
import {
  collectorForEachTest,
  headerOf,
  onlySpan,
  spansOf,
  startTraced,
  stopInOrder,
  tracedCaller,
  traceOf,
  turnSpan,
  untilReceived,
  variablesFor
} from "./Traced.js"

const place = placeForEachTest(inMemory)
const collector = collectorForEachTest()

const asked = traceOf("a")
const otherwise = traceOf("b")

/** A name that the conventions do not have, in a room that is theirs. */
const misnamed = ({ attributes }: CollectedSpan) =>
  Object.keys(attributes).filter((name) => /^(?:gen_ai|mcp|error)\./.test(name) && !(name in conventions.attributes))

/** The figures of model calls and turns add up to the usage of the only turn, with names and bounds of the conventions. */
const assertFigures = (usage: { readonly input_tokens: number | null; readonly output_tokens: number | null }) => {
  const figures = [...collector.at().histograms.values()].filter(({ name }) => name.startsWith("gen_ai."))
  for (const { attributes, bounds, name, unit } of figures) {
    assert.deepStrictEqual(
      { unit, bounds },
      { unit: conventions.metrics[name]?.unit, bounds: conventions.metrics[name]?.bounds }
    )
    assert.isEmpty(Object.keys(attributes).filter((attribute) => !(attribute in conventions.attributes)))
  }
  const sumOf = (type: string) => figures.find(({ attributes }) => attributes["gen_ai.token.type"] === type)?.sum
  assert.deepStrictEqual([sumOf("input"), sumOf("output")], [usage.input_tokens, usage.output_tokens])
  const counts = figures
    .filter(({ name }) => name === "gen_ai.client.operation.duration")
    .map(({ attributes, count }) => [attributes["gen_ai.operation.name"], count])
  assert.sameDeepMembers(counts, [
    ["chat", 2],
    ["invoke_agent", 1]
  ])
}

/** True when a file of the data directory has a text. */
const isKept = (text: string): boolean =>
  readdirSync(place.dataDir, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some(({ name }) => readFileSync(join(place.dataDir, name), "latin1").includes(text))

const isOurs = ({ attributes }: CollectedSpan) => "gen_ai.operation.name" in attributes

/** Writes a file, so that there is something to deliver. */
const work = (words = "Write it.") =>
  script(words, { tool: "write", path: "sum.txt", content: "four\n" }, { say: "It is written." })

describe.each(["http/json", "http/protobuf"])("over %s", (protocol) => {
  it("one trace leads from the message through the turn, its model calls and its tools to the delivery", async () => {
    const env = variablesFor(place, collector.at(), { OTEL_EXPORTER_OTLP_PROTOCOL: protocol })
    const server = await startTraced(place, env)
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const path = `/api/sessions/${session_id}/messages`
    const { turn_id } = await caller.post(server, path, { content: work() }, headerOf(asked))
    const turn = await client.turns.wait({ turn_id })
    assert.strictEqual(turn.state, "succeeded")
    const [changeset] = (await client.sessions.listChangesets({ session_id })).items
    const deliveries = `/api/changesets/${changeset?.id}/deliveries`
    const { operation } = await caller.post(server, deliveries, { transport: "patch" }, headerOf(asked))
    await client.jobs.wait(operation)
    await stopInOrder(server)

    const { everything, forms, spans } = collector.at()
    assert.deepStrictEqual([...forms], [protocol === "http/json" ? "application/json" : "application/x-protobuf"])
    const request = onlySpan(
      collector.at(),
      "the request",
      ({ name, parentSpanId }) => name === "POST /api/sessions/{session_id}/messages" && parentSpanId === asked.spanId
    )
    const invoked = turnSpan(collector.at(), turn_id)
    assert.deepInclude(invoked, {
      traceId: asked.traceId,
      parentSpanId: request.spanId,
      name: "invoke_agent OpenCode",
      kind: "internal",
      status: "unset",
      events: 0
    })
    assert.deepInclude(invoked.attributes, {
      "gen_ai.agent.name": "OpenCode",
      "gen_ai.agent.id": "alpha",
      "gen_ai.conversation.id": session_id,
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "scripted-1",
      "gen_ai.usage.input_tokens": turn.usage.input_tokens,
      "gen_ai.usage.output_tokens": turn.usage.output_tokens
    })
    const chats = spansOf(collector.at(), turn_id, "chat")
    assert.lengthOf(chats, 2)
    for (const chat of chats) {
      assert.deepInclude(chat, {
        traceId: asked.traceId,
        parentSpanId: invoked.spanId,
        name: "chat scripted-1",
        kind: "client",
        status: "unset"
      })
      assert.deepInclude(chat.attributes, { "gen_ai.provider.name": "openai", "gen_ai.conversation.id": session_id })
    }
    assert.deepStrictEqual(
      chats.map(({ attributes }) => attributes["gen_ai.response.finish_reasons"]),
      [["tool_calls"], ["stop"]]
    )
    const tool = onlySpan(collector.at(), "the tool", ({ name }) => name === "execute_tool edit")
    assert.deepInclude(tool, {
      traceId: asked.traceId,
      parentSpanId: invoked.spanId,
      kind: "internal",
      status: "unset"
    })
    const delivered = onlySpan(collector.at(), "the delivery", ({ name }) => name === "deliver patch")
    assert.deepInclude(delivered, { traceId: asked.traceId, status: "unset", links: [] })
    assertFigures(turn.usage)

    assert.isEmpty(spans.flatMap(misnamed))
    assert.isEmpty(spans.filter(isOurs).filter(({ endNanos, startNanos }) => endNanos < startNanos))
    const ids = spans.map(({ spanId }) => spanId)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const content of ["Write it.", "It is written.", "four", "sum.txt", gatewayKey])
      assert.notInclude(everything(), content)
  })
})

describe("a delivery that another request has asked for", () => {
  it("is a part of the trace of that request, with a link to the turn", async () => {
    const server = await startTraced(place, variablesFor(place, collector.at()))
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const messages = `/api/sessions/${session_id}/messages`
    const { turn_id } = await caller.post(server, messages, { content: work() }, headerOf(asked))
    await client.turns.wait({ turn_id })
    const [changeset] = (await client.sessions.listChangesets({ session_id })).items
    const path = `/api/changesets/${changeset?.id}/deliveries`
    const { operation } = await caller.post(server, path, { transport: "patch" }, headerOf(otherwise))
    await client.jobs.wait(operation)
    const retried = await caller.post(server, `/api/turns/${turn_id}/retries`, {}, headerOf(otherwise))
    await client.turns.wait({ turn_id: retried.id })
    await stopInOrder(server)

    const invoked = turnSpan(collector.at(), turn_id)
    const ofTurn = { traceId: invoked.traceId, spanId: invoked.spanId }
    const delivered = onlySpan(collector.at(), "the delivery", ({ name }) => name === "deliver patch")
    assert.deepInclude(delivered, { traceId: otherwise.traceId, links: [ofTurn] })
    assert.isTrue(isKept(asked.traceId))
    const again = onlySpan(
      collector.at(),
      "the second turn",
      ({ links, name }) => name === "invoke_agent OpenCode" && links.length > 0
    )
    assert.deepInclude(again, { traceId: otherwise.traceId, links: [ofTurn] })
  })
})

describe("a delivery that an automation makes", () => {
  it("is a part of the trace of the run, because it is the same work", async () => {
    const server = await startTraced(place, variablesFor(place, collector.at()))
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const origin = await collector.inScope(remote("gitea"))
    const credential = { base_url: origin.base, token }
    const { workspaceId: workspace_id } = caller
    await client.connections.create({ workspace_id, kind: "gitea", label: "forge", credential })
    const automation = await client.automations.create({
      workspace_id,
      name: "Writing",
      trigger: { kind: "once", at: "2099-01-01T00:00:00.000Z" },
      target: {
        kind: "new_session",
        message: work(),
        harness: { provider_id: "alpha", model: "scripted-1" },
        repository: { url: origin.url }
      },
      deliver: {}
    })
    const run = await caller.post(server, `/api/automations/${automation.id}/runs`, {}, headerOf(asked))
    const runOf = () => client.automations.getRun({ automation_run_id: run.id })
    await eventually("a delivery of the run", async () => (await runOf()).delivery_id !== null)
    const { delivery_id, turn_id } = await runOf()
    await eventually("its end", async () => {
      const { state } = await client.deliveries.get({ delivery_id: delivery_id ?? "" })
      return state === "succeeded"
    })
    await stopInOrder(server)

    const invoked = turnSpan(collector.at(), turn_id ?? "")
    assert.strictEqual(invoked.traceId, asked.traceId)
    const delivered = onlySpan(collector.at(), "the delivery", ({ name }) => name === "deliver git_branch")
    assert.deepInclude(delivered, { traceId: asked.traceId, links: [] })
  })
})

describe("a turn that is cancelled", () => {
  it("is no error", async () => {
    const server = await startTraced(place, variablesFor(place, collector.at()))
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const { turn_id } = await beginTurn(client, session_id, endlessTool(), "tool.started")
    await client.turns.cancel({ turn_id })
    await client.turns.wait({ turn_id })
    await stopInOrder(server)

    const invoked = turnSpan(collector.at(), turn_id)
    assert.deepInclude(invoked, { status: "unset" })
    assert.strictEqual(invoked.attributes["reins.turn.state"], "cancelled")
    assert.lengthOf(spansOf(collector.at(), turn_id, "execute_tool"), 1)
  })
})

describe("a server that is killed", () => {
  it("loses no trace: the turn that it ran and the one that waited are in theirs", async () => {
    const env = variablesFor(place, collector.at())
    const first = await startTraced(place, env)
    const caller = await tracedCaller(first, place.dataDir, place.gateway)
    const before = caller.at(first)
    const session_id = await caller.newSession(before)
    const path = `/api/sessions/${session_id}/messages`
    const running = await caller.post(first, path, { content: endlessTool() }, headerOf(asked))
    const waiting = await caller.post(first, path, { content: work() }, headerOf(otherwise))
    await untilReceived("the first model call", () => spansOf(collector.at(), running.turn_id, "chat").length > 0)
    first.kill("SIGKILL")
    await first.ended
    assert.isEmpty(spansOf(collector.at(), running.turn_id, "invoke_agent"))

    const second = await startTraced(place, env)
    const after = caller.at(second)
    const interrupted = await after.turns.wait({ turn_id: running.turn_id })
    assert.strictEqual(interrupted.state, "interrupted")
    await after.turns.acknowledge({ turn_id: running.turn_id })
    assert.strictEqual((await after.turns.wait({ turn_id: waiting.turn_id })).state, "succeeded")
    await stopInOrder(second)

    const invoked = turnSpan(collector.at(), running.turn_id)
    assert.deepInclude(invoked, { traceId: asked.traceId, status: "error" })
    assert.strictEqual(invoked.attributes["error.type"], "service_restart")
    const [chat] = spansOf(collector.at(), running.turn_id, "chat")
    assert.deepInclude(chat, { traceId: asked.traceId, parentSpanId: invoked.spanId })
    const next = turnSpan(collector.at(), waiting.turn_id)
    assert.deepInclude(next, { traceId: otherwise.traceId, status: "unset" })
  })
})

describe("content", () => {
  it("is sent when the operator asks for it, without any secret", async () => {
    const env = variablesFor(place, collector.at(), {
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "SPAN_ONLY",
      REINS_LOG_LEVEL: "debug"
    })
    const server = await startTraced(place, env)
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const content = script(
      // The second key lies across the end of what is sent of a text.
      `Say the key ${gatewayKey}. ${"x".repeat(8100)} ${"y".repeat(40)} ${gatewayKey}`,
      { tool: "bash", cmd: `echo the key is ${gatewayKey}` },
      { say: `The key is ${gatewayKey}, I said.` }
    )
    const { turn_id } = await caller.post(server, `/api/sessions/${session_id}/messages`, { content })
    await client.turns.wait({ turn_id })
    await stopInOrder(server)

    const invoked = turnSpan(collector.at(), turn_id)
    const [tool] = spansOf(collector.at(), turn_id, "execute_tool")
    assert.match(String(invoked.attributes["gen_ai.input.messages"]), /"role":"user".*Say the key \[secret\]/)
    assert.match(
      String(invoked.attributes["gen_ai.output.messages"]),
      /"role":"assistant".*The key is \[secret\], I said/
    )
    assert.include(String(tool?.attributes["gen_ai.tool.call.arguments"]), "echo the key is [secret]")
    assert.include(String(tool?.attributes["gen_ai.tool.call.result"]), "the key is [secret]")
    assert.notInclude(collector.at().everything(), cutText(gatewayKey, 12))
  })
})

describe("a delegation", () => {
  it("is below the call with which its agent was asked for", async () => {
    const server = await startTraced(place, variablesFor(place, collector.at()))
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const content = script(
      "Have it written.",
      { tool: "delegate", args: { name: "writer", instructions: work("Write it for me.") } },
      { tool: "wait", args: {} },
      { say: "It was written." }
    )
    const path = `/api/sessions/${session_id}/messages`
    const { turn_id } = await caller.post(server, path, { content }, headerOf(asked))
    await client.turns.wait({ turn_id })
    const [child] = (await client.sessions.listDelegations({ session_id })).items
    const [childTurn] = (await client.turns.list({ session_id: child?.child_session_id ?? "" })).items
    await client.turns.wait({ turn_id: childTurn?.id ?? "" })
    await stopInOrder(server)

    const invoked = turnSpan(collector.at(), turn_id)
    const called = onlySpan(collector.at(), "the call", ({ name }) => name === "tools/call delegate")
    assert.deepInclude(called, { traceId: asked.traceId, parentSpanId: invoked.spanId, kind: "server" })
    const below = turnSpan(collector.at(), childTurn?.id ?? "")
    assert.deepInclude(below, { traceId: asked.traceId, parentSpanId: called.spanId })
  })
})

describe("without the opt-in", () => {
  it("no name of the conventions is sent, and nothing is kept with the work", async () => {
    const env = variablesFor(place, collector.at(), { OTEL_SEMCONV_STABILITY_OPT_IN: "http,database/dup" })
    const server = await startTraced(place, env)
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const path = `/api/sessions/${session_id}/messages`
    const { turn_id } = await caller.post(server, path, { content: work() }, headerOf(asked))
    await client.turns.wait({ turn_id })
    await stopInOrder(server)

    assert.include(
      collector.at().spans.map(({ traceId }) => traceId),
      asked.traceId
    )
    assert.notInclude(collector.at().everything(), "gen_ai")
    assert.isFalse(isKept(asked.traceId))
  })
})

describe("a collector that is away", () => {
  it("holds no turn up", async () => {
    const env = { ...variablesFor(place, collector.at()), OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }
    const server = await startServer({ dataDir: place.dataDir, env })
    const caller = await tracedCaller(server, place.dataDir, place.gateway)
    const client = caller.at(server)
    const session_id = await caller.newSession(client)
    const begun = await beginTurn(client, session_id, work(), "tool.started")
    assert.strictEqual((await client.turns.wait({ turn_id: begun.turn_id })).state, "succeeded")
    await stopInOrder(server)
  })
})
