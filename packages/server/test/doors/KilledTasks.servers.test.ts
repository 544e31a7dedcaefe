import { join } from "node:path"
import { Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller, newKey } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { startServer } from "@reins/testing/process/ServerProcess"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, it } from "vitest"
import { world as docsWorld, type World } from "../docs/World.js"
import { overHttp } from "./Assistant.js"
import { endTaskClients, openTaskClient } from "./TaskClient.js"

const place = placeForEachTest()
afterAll(endTaskClients)

it("handles outlive a killed server: each tells the truth of its turn, and the result comes once", async () => {
  const { dataDir, directory, gateway } = place
  const port = String(await steadyPort())
  const env = { REINS_CACHE_DIR: cacheWithSmallAgent(directory) }
  const start = () => startServer({ dataDir, env, args: ["--port", port] })
  const first = await start()
  const caller = await newCaller(first, dataDir, gateway, env)
  const client = () => openTaskClient(() => overHttp(first.url, caller.apiKey))
  const agent = { provider_id: "alpha", model: "scripted-1" }
  const one = await client()

  // One turn has ended, one works, and one waits behind it.
  const done = await one.begin("start_session", { ...agent, message: script("Say.", { say: "Done before." }) })
  const { fields } = await one.follow(done.taskId)
  const cut = await one.begin("start_session", { ...agent, message: endlessTool() })
  const reins = caller.at(first)
  const { items } = await reins.sessions.list({ workspace_id: caller.workspaceId, limit: 1 })
  const session_id = items[0]?.id ?? ""
  for await (const { type } of reins.sessions.stream({ session_id })) if (type === "tool.started") break
  const next = await one.begin("send_message", { session_id, message: script("Go on.", { say: "Here I am." }) })
  const waits = await one.begin("wait", { session_id })
  const following = one.follow(cut.taskId).catch(() => "cut off")
  first.kill("SIGKILL")
  await first.ended
  await following

  // Another client takes the handles up, with nothing but their ids.
  const second = await start()
  const two = await client()
  assert.deepStrictEqual((await two.follow(done.taskId)).fields, fields)
  const interrupted = await two.follow(cut.taskId)
  assert.strictEqual(interrupted.status, "completed")
  assert.deepInclude(interrupted.fields["turn"], { state: "interrupted", reason: "service_restart" })
  const queued = await two.look(next.taskId)
  assert.deepInclude(queued, { status: "working", createdAt: next.createdAt })
  const again = caller.at(second)
  await again.turns.acknowledge({ turn_id: String(interrupted.fields["turn_id"]) })
  const ended = await two.follow(next.taskId)
  assert.deepInclude(ended.fields, { session_id, said: "Here I am.", ended: true })
  assert.deepInclude((await two.follow(waits.taskId)).fields, { session_id, ended: true })
  // Nothing ran twice, and the results stay what they were.
  await eventually("rest", async () => (await again.sessions.get({ session_id })).activity === "idle")
  const turns = await again.turns.list({ session_id })
  assert.deepStrictEqual(turns.items.map(({ state }) => state).sort(), ["interrupted", "succeeded"])
  assert.deepStrictEqual((await two.follow(cut.taskId)).fields, interrupted.fields)
  assert.deepStrictEqual((await two.follow(next.taskId)).fields, ended.fields)
}, 120_000)

it("a delivery and its merge request outlive a killed server, and are made once", { timeout: 180_000 }, () =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { directory, env, forges } = yield* docsWorld("small")
        yield* Effect.promise(() => delivering(directory, env, forges.gitea))
      })
    )
  )
)

const delivering = async (
  directory: string,
  { BACKUPS: _, GATEWAY_KEY, GATEWAY_URL, MODEL, REINS_URL: __, ...env }: World["env"],
  { pulls, repositoryUrl, token, url: forgeUrl }: World["forges"]["gitea"]
) => {
  const dataDir = join(directory, "data")
  const start = () => startServer({ dataDir, env, args: ["--port", env.REINS_PORT] })
  const first = await start()
  const apiKey = newKey(dataDir, env)
  const reins = new Reins({ baseUrl: first.url, apiKey })
  const workspace_id = (await reins.accounts.getMe()).workspaces[0]?.id ?? ""
  const gateway = { base_url: GATEWAY_URL, api_key: GATEWAY_KEY }
  await reins.connections.create({ workspace_id, kind: "alpha_gateway", label: "gateway", credential: gateway })
  const forge = { base_url: forgeUrl, token: token ?? "" }
  await reins.connections.create({ workspace_id, kind: "gitea", label: "forge", credential: forge })
  const client = () => openTaskClient(() => overHttp(first.url, apiKey), { person: () => "deliver" })
  const one = await client()
  const agent = { provider_id: "alpha", model: MODEL }
  const made = await one.begin("start_session", { ...agent, repository_url: repositoryUrl, message: "Mend the test." })
  const { fields } = await one.follow(made.taskId)
  const changeset_id = (fields["changeset"] as { readonly id: string }).id
  const execution = await one.session.callTool("deliver", { changeset_id, branch: "mended", merge_request: true })
  const taskId = execution.handle?.taskId ?? assert.fail("there is no handle")
  first.kill("SIGKILL")
  await first.ended
  await execution.detach().catch(() => undefined)
  await start()
  const two = await client()
  const delivered = await two.follow(taskId)
  assert.deepInclude(delivered, { status: "completed" })
  assert.deepInclude(delivered.fields, { state: "succeeded", branch: "mended", changeset_id })
  assert.deepInclude(delivered.fields["merge_request"], { base_branch: "main" })
  // However many look, there is one merge request.
  const all = await Promise.all([two.look(taskId), two.look(taskId), two.look(taskId)])
  for (const each of all) assert.deepStrictEqual(each.result?.structuredContent, delivered.fields)
  assert.lengthOf(pulls, 1)
  assert.lengthOf(two.asked, 0)
}
