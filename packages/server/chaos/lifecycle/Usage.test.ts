import type { Reins, TurnSnapshot } from "@reins/client"
import { agentsIn } from "@reins/testing/executor/Processes"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { meteredCalls } from "../Volume.js"

const place = placeForEachTest(inHome)

/** The agents, with each protocol that they speak. */
const speakers = [
  { provider_id: "alpha", kind: "alpha_gateway", protocol: "openai_chat" },
  { provider_id: "alpha", kind: "alpha_gateway", protocol: "openai_responses" },
  { provider_id: "alpha", kind: "alpha_gateway", protocol: "anthropic_messages" },
  { provider_id: "beta", kind: "beta", protocol: "openai_responses" }
] as const

const stepsOfATurn = 12
const work = Array.from({ length: stepsOfATurn }, () => ({ tool: "bash", cmd: "true" }))

/** The calls that the gateway has answered, by the tokens of input that it says for each: those of messages come without the cached ones. */
const answered = () => {
  const calls = place.gateway.requests.filter(
    ({ path, step }) => path !== "/v1/models" && step.error === undefined && !step.hang
  )
  const messages = calls.filter(({ path }) => path === "/v1/messages").length
  return { calls: calls.length, input: 1000 * calls.length + 100 * messages }
}

/** The usage that the gateway has told since, with 100 tokens from a cache and 20 of output in each call. */
const saidSince = (before: ReturnType<typeof answered>) => {
  const now = answered()
  const calls = now.calls - before.calls
  return { input_tokens: now.input - before.input, cached_tokens: 100 * calls, output_tokens: 20 * calls }
}

const nothing = { calls: 0, input: 0 }

it(`the usage of ${meteredCalls} calls of two real agents over three protocols is what the gateway said, to the token`, async () => {
  const server = await startServer({ dataDir: place.dataDir })
  const { at, workspaceId } = await newCaller(server, place.dataDir, place.gateway)
  const client = at(server)
  for (const { kind, protocol, provider_id } of speakers) {
    const { id: connection_id } = await client.connections.create({
      workspace_id: workspaceId,
      kind,
      label: protocol,
      credential: { base_url: place.gateway.url, api_key: gatewayKey, ...(kind === "alpha_gateway" && { protocol }) }
    })
    const { id: session_id } = await client.sessions.create({
      workspace_id: workspaceId,
      connection_id,
      harness: { provider_id, model: "scripted-1" }
    })
    const before = answered()
    const turns: Array<TurnSnapshot> = []
    while (answered().calls - before.calls < meteredCalls / speakers.length) {
      const end = turns.length % 3 === 2 ? { error: 400 } : { say: "Done." }
      const { turn } = await client.run({ session_id, content: script("Work.", ...work, end) }).final()
      assert.strictEqual(turn.state, "error" in end ? "failed" : "succeeded", JSON.stringify(turn))
      turns.push(turn)
    }
    const { total } = await client.sessions.getUsage({ session_id })
    assert.deepInclude(total, saidSince(before), `${provider_id} over ${protocol}`)
    assert.deepInclude((await client.sessions.get({ session_id })).usage, saidSince(before))
    assert.strictEqual(
      turns.reduce((sum, { usage }) => sum + (usage.input_tokens ?? 0), 0),
      saidSince(before).input_tokens
    )
  }
  assert.isAtLeast(answered().calls, meteredCalls)
  assert.deepInclude((await client.workspaces.getUsage({ workspace_id: workspaceId })).total, saidSince(nothing))
})

/** Waits for an event of the session that is wanted. */
const until = async (client: Reins, session_id: string, calls: number): Promise<void> => {
  for await (const event of client.sessions.stream({ session_id }))
    if (event.type === "usage.observed" && event.payload.usage.calls === calls) return
}

it("calls that were answered before the server is killed count in the turn that it leaves", async () => {
  const first = await startServer({ dataDir: place.dataDir })
  const caller = await newCaller(first, place.dataDir, place.gateway)
  const before = caller.at(first)
  const session_id = await caller.newSession(before, "beta")
  const content = script("Work.", { tool: "bash", cmd: "true" }, { tool: "bash", cmd: "true" }, { hang: true })
  const { turn_id = "" } = await before.messages.send({ session_id, content })
  await until(before, session_id, 2)
  first.kill("SIGKILL")
  await first.ended
  const second = await startServer({ dataDir: place.dataDir })
  const after = caller.at(second)
  const turn = await after.turns.wait({ turn_id })
  assert.strictEqual(turn.state, "interrupted", JSON.stringify(turn))
  assert.deepInclude(turn.usage, { ...saidSince(nothing), calls: 2, source: "gateway" })
  assert.deepInclude((await after.sessions.getUsage({ session_id })).total, saidSince(nothing))
})

it("a gateway that answers alpha with garbage is asked 30 times at most, and its agent is stopped", async () => {
  const server = await startServer({ dataDir: place.dataDir })
  const caller = await newCaller(server, place.dataDir, place.gateway)
  const client = caller.at(server)
  const session_id = await caller.newSession(client, "alpha")
  const { turn } = await client.run({ session_id, content: script("Try.", { garble: "<html>Welcome</html>" }) }).final()
  assert.deepStrictEqual([turn.state, turn.reason], ["failed", "upstream_error"], JSON.stringify(turn))
  const work = place.gateway.requests.filter(({ tools }) => tools.length > 0)
  assert.isAtMost(work.length, 30)
  assert.isEmpty(agentsIn(place.dataDir))
})
