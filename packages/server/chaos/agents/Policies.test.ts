import { existsSync } from "node:fs"
import { join } from "node:path"
import { SessionId } from "@reins/base/domain/Ids"
import type { Reins } from "@reins/client"
import { agentPlaces, sessionPaths } from "@reins/machine/bench/SessionPaths"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { beginTurn, wholeLog } from "@reins/testing/process/Turns"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { askedTurns } from "../Volume.js"
import { enable, protocolOf } from "./Optional.js"

const place = placeForEachTest(inHome)

/** The agents that ask, and those of them that are told what a person notes on the answer. */
const asking = [
  { provider_id: "opencode", hears: false },
  { provider_id: "claude", hears: true },
  { provider_id: "beta", hears: true }
] as const

/** The connection that a provider takes; undefined for the one of beta, which is there. */
const connectionOf = async (
  client: Reins,
  workspace_id: string,
  provider_id: (typeof asking)[number]["provider_id"]
) => {
  if (provider_id === "beta") return {}
  const credential = { base_url: place.gateway.url, api_key: gatewayKey, protocol: await protocolOf(provider_id) }
  const { id } = await client.connections.create({ workspace_id, kind: "gateway", label: provider_id, credential })
  return { connection_id: id }
}

/** The requests that end with the words. An agent asks for titles beside them, at times of its own. */
const endingWith = (words: string) =>
  place.gateway.requests.filter(({ messages }) => messages.at(-1)?.text.endsWith(words))

/** Answers whatever the agent asks in a turn, and gives the end of the turn with the number of its questions. */
const answered = async (
  client: Reins,
  { session_id, turn_id, kind, note }: Record<"session_id" | "turn_id" | "kind", string> & { readonly note?: string }
) => {
  let questions = 0
  for await (const { type, turn_id: of } of client.sessions.stream({ session_id })) {
    if (of !== turn_id) continue
    if (type === "turn.action_required")
      for await (const { id, options } of client.interactions.list({ session_id, state: "pending" })) {
        const answer = options.find((option) => option.kind === kind)?.id ?? assert.fail(JSON.stringify(options))
        await client.interactions.answer({ interaction_id: id, answer, ...(note !== undefined && { note }) })
        questions++
      }
    if (/^turn\.(?:succeeded|failed|cancelled|interrupted)$/.test(type)) break
  }
  return { questions, turn: await client.turns.get({ turn_id }) }
}

for (const { hears, provider_id } of asking) {
  it(`${provider_id} asks before it acts, and does what it is allowed and nothing else: ${askedTurns} turns`, async () => {
    const { dataDir, gateway } = place
    if (provider_id !== "beta") await enable(dataDir, provider_id)
    const server = await startServer({ dataDir })
    const { at, workspaceId } = await newCaller(server, dataDir, gateway)
    const client = at(server)
    const { id: session_id } = await client.sessions.create({
      workspace_id: workspaceId,
      harness: { provider_id, model: "scripted-1" },
      permissions: { default: "ask" },
      ...(await connectionOf(client, workspaceId, provider_id))
    })
    const { workTree } = sessionPaths(dataDir, SessionId.make(session_id))
    const { backend } = await client.sessions.getExecutor({ session_id })
    const { workspaceDir } = backend === "local" ? { workspaceDir: workTree } : agentPlaces(SessionId.make(session_id))
    for (let number = 0; number < askedTurns; number++) {
      const name = `made-${number}.txt`
      const path = provider_id === "beta" ? name : join(workspaceDir, name)
      const content = script("Make the file.", { tool: "write", path, content: "made\n" }, { say: "All done." })
      const { turn_id = "" } = await client.messages.send({ session_id, content })
      const isAllowed = number % 3 !== 1
      const kind = isAllowed ? "allow_once" : "reject_once"
      const note = hears && isAllowed ? { note: `Note ${number}.` } : {}
      const { questions, turn } = await answered(client, { session_id, turn_id, kind, ...note })
      assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
      assert.strictEqual(questions, 1)
      assert.strictEqual(existsSync(join(workTree, name)), isAllowed, name)
      if (hears && isAllowed) assert.lengthOf(endingWith(`Note ${number}.`), 1, "the requests that tell of the note")
    }
  })
}

it("claude takes a word into the turn that it works on, and goes on with another one when it is interrupted", async () => {
  const { dataDir, gateway } = place
  await enable(dataDir, "claude")
  const server = await startServer({ dataDir })
  const { at, workspaceId } = await newCaller(server, dataDir, gateway)
  const client = at(server)
  const { id: session_id } = await client.sessions.create({
    workspace_id: workspaceId,
    harness: { provider_id: "claude", model: "scripted-1" },
    ...(await connectionOf(client, workspaceId, "claude"))
  })
  const heard = () => JSON.stringify(gateway.requests.flatMap(({ messages }) => messages.map(({ text }) => text)))
  const working = (seconds: number) =>
    beginTurn(
      client,
      session_id,
      script("Work.", { tool: "bash", cmd: `sleep ${seconds}` }, { say: "Done." }),
      "tool.started"
    )
  const say = async (turn_id: string, content: string, routing: "steer" | "interrupt") => {
    const sent = await client.messages.send({ session_id, content, routing })
    assert.deepStrictEqual([sent.message.routing, sent.turn_id], [routing, turn_id])
    const turn = await client.turns.wait({ turn_id })
    assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
  }
  const steered = await working(3)
  await say(steered.turn_id, "Steer left.", "steer")
  assert.include(heard(), "Steer left.")
  const interrupted = await working(600)
  await say(interrupted.turn_id, script("Rather this.", { say: "This, then." }), "interrupt")
  const log = await wholeLog(client, session_id)
  assert.isTrue(log.some(({ payload }) => JSON.stringify(payload).includes("This, then.")))
})
