import { type ChildProcess, spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { afterEach, assert, beforeEach, it, vi } from "vitest"
import { type Gateway, script, startGateway } from "../../scripted-gateway/gateway.mjs"

interface Comment {
  readonly id: string
  readonly issueId: string
  readonly body: string
}

const linearKey = "lin_api_canary"
const secret = "lin_wh_canary"
const issueId = "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9"

let gateway: Gateway
let linear: Server
let comments: Array<Comment>
let asked: number
let directory: string
let server: ServerProcess
let client: Reins
let workspace_id: string
let env: Record<string, string>
let bot: ChildProcess | undefined

/** Answers as the GraphQL API of Linear does for comments. An id is taken once. */
const answerTo = (authorization: string | undefined, text: string) => {
  asked += 1
  const refusal = (message: string, code = "INVALID_INPUT") => ({ errors: [{ message, extensions: { code } }] })
  if (authorization !== linearKey) return refusal("Authentication required", "AUTHENTICATION_ERROR")
  if (asked === 1) return refusal("Rate limit exceeded", "RATELIMITED")
  const { query, variables } = JSON.parse(text)
  if (query.startsWith("query Comment(")) {
    const found = comments.find(({ id }) => id === variables.id)
    return found === undefined ? refusal("Entity not found: Comment") : { data: { comment: { id: found.id } } }
  }
  if (!query.startsWith("mutation Comment(")) return refusal("Unknown operation")
  const { input } = variables
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(input.id)) return refusal("No UUID")
  if (comments.some(({ id }) => id === input.id)) return refusal("Entity with this id exists")
  if (input.issueId !== issueId) return refusal("Entity not found: Issue")
  comments.push(input)
  return { data: { commentCreate: { success: true, comment: { id: input.id } } } }
}

beforeEach(async () => {
  comments = []
  asked = 0
  linear = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = answerTo(request.headers.authorization, Buffer.concat(chunks).toString())
    response.writeHead("errors" in answer ? 400 : 200, { "content-type": "application/json" })
    response.end(JSON.stringify(answer))
  }).listen(0, "127.0.0.1")
  await once(linear, "listening")
  gateway = await startGateway({ apiKey: gatewayKey })
  directory = mkdtempSync(join(tmpdir(), "reins-linear-"))
  const dataDir = join(directory, "data")
  server = await startServer({ dataDir, env: { REINS_MANIFESTS_DIR: manifestsWithSmallAgent(directory) } })
  const caller = await newCaller(server, dataDir, gateway)
  client = caller.at(server)
  workspace_id = caller.workspaceId
  const spec = { harness: { provider_id: "alpha", model: "scripted-1" } }
  const { id } = await client.projects.create({ workspace_id, slug: "bot", name: "Bot", spec })
  // Boundary: a server that listens on a port has an address with one.
  const { port } = linear.address() as AddressInfo
  env = {
    REINS_URL: server.url,
    REINS_API_KEY: caller.apiKey,
    REINS_PROJECT: id,
    LINEAR_API_KEY: linearKey,
    LINEAR_API_URL: `http://127.0.0.1:${port}/graphql`,
    LINEAR_STATE: join(directory, "position"),
    LINEAR_WEBHOOK_SECRET: secret,
    PORT: "0"
  }
})
afterEach(async () => {
  await stopBot()
  server.kill("SIGTERM")
  await server.ended
  await gateway.close()
  linear.closeAllConnections()
  linear.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Starts the bot, and gives its address. */
const startBot = async (): Promise<string> => {
  const started = spawn(process.execPath, [join(import.meta.dirname, "../linear.mjs")], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"]
  })
  bot = started
  for await (const chunk of started.stdout) {
    const port = /Listening on port (\d+)/.exec(String(chunk))?.[1]
    if (port !== undefined) return `http://127.0.0.1:${port}`
  }
  throw new Error("The bot ended before it listened")
}

const stopBot = async () => {
  if (bot === undefined || bot.exitCode !== null || bot.signalCode !== null) return
  const ended = once(bot, "exit")
  bot.kill("SIGKILL")
  await ended
}

const labels = [
  { id: "l1", name: "bug" },
  { id: "l2", name: "reins" }
]

/** A call of Linear about an issue. */
const issue = (description: string, more: object = {}) => ({
  action: "update",
  type: "Issue",
  data: {
    id: issueId,
    identifier: "ENG-7",
    title: "Totals",
    url: "https://linear.app/x/issue/ENG-7",
    description,
    labels
  },
  updatedFrom: { labelIds: ["l1"] },
  ...more
})

const send = async (url: string, call: object, { age = 0, delivery = "d1", key = secret } = {}) => {
  const body = JSON.stringify({ ...call, webhookTimestamp: Date.now() - age })
  const signature = createHmac("sha256", key).update(body).digest("hex")
  const headers = { "content-type": "application/json", "linear-delivery": delivery, "linear-signature": signature }
  return (await fetch(url, { method: "POST", headers, body })).status
}

const until = (isSo: () => boolean) => vi.waitUntil(isSo, { timeout: 60_000, interval: 10 })

const sessions = async () => (await client.sessions.list({ workspace_id })).items

it("a label starts one session, and each answer is one comment, over a kill of the bot", async () => {
  let url = await startBot()
  const task = issue(script("Mend the totals.", { say: "Mended." }))
  for (let again = 0; again < 3; again++) assert.strictEqual(await send(url, task), 200)
  await until(() => comments.length > 0)
  assert.deepInclude(comments[0], { issueId, body: "Mended." })
  const [session, ...others] = await sessions()
  assert.lengthOf(others, 0)
  assert.deepInclude(session, { title: "ENG-7: Totals", labels: { linear: issueId } })
  assert.include(
    gateway.requests[0]?.messages.at(-1)?.text,
    "Work on the issue ENG-7, https://linear.app/x/issue/ENG-7."
  )

  // A bot that was killed before it has kept its position writes no second comment.
  await stopBot()
  writeFileSync(env["LINEAR_STATE"] ?? "", "0")
  url = await startBot()
  // The label again is the next message of the session.
  assert.strictEqual(await send(url, issue(script("Again.", { error: 401 })), { delivery: "d2" }), 200)
  await until(() => comments.length > 1)
  assert.match(comments[1]?.body ?? "", /^The turn failed: ./)
  assert.lengthOf(comments, 2)
  assert.lengthOf(await sessions(), 1)
}, 180_000)

it("what Linear has not signed, and what is about no new label, starts nothing", async () => {
  const url = await startBot()
  assert.strictEqual(await send(url, issue("x"), { key: "another" }), 401)
  assert.strictEqual(await send(url, issue("x"), { age: 61_000 }), 401)
  // Time goes on until the bot looks, so a time ahead is nearer then.
  assert.strictEqual(await send(url, issue("x"), { age: -120_000 }), 401)
  assert.strictEqual((await fetch(url, { method: "POST", body: "{}" })).status, 401)
  const others = [
    issue("x", { updatedFrom: { labelIds: ["l1", "l2"] } }),
    issue("x", { updatedFrom: { title: "Total" } }),
    issue("x", { action: "remove" }),
    issue("x", { type: "Comment", data: { id: "c1", body: "reins" } }),
    issue("x", { action: "create", data: { id: issueId, title: "x", labels: [labels[0]] } })
  ]
  for (const [index, call] of others.entries())
    assert.strictEqual(await send(url, call, { delivery: `o${index}` }), 200)
  assert.lengthOf(await sessions(), 0)
  // An issue that is made with the label has it from the start.
  assert.strictEqual(await send(url, issue(script("Hello.", { say: "Hello." }), { action: "create" })), 200)
  await until(() => comments.length === 1)
}, 180_000)
