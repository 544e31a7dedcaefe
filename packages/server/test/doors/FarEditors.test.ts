import { writeFileSync } from "node:fs"
import { request as httpRequest, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { methods } from "@agentclientprotocol/sdk"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { WebSocket } from "ws"
import { worldForFile } from "../cli/Cli.js"
import { saidIn, toolsOf, wordsOf } from "./Editor.js"
import { allowing, type FarEditor, farEditor, textOf, ways } from "./FarEditor.js"

const world = worldForFile({ acp: true, manifests: askingAgents("supported") })
const withoutDoor = worldForFile()

const { session } = methods.agent
const limit = 60_000

const write = script(
  "Write.",
  { say: "I write it.", tool: "write", path: "hello.txt", content: "hi\n" },
  { say: "There it is." }
)

const begun = async (editor: FarEditor): Promise<string> =>
  (await editor.agent.request(session.new, { cwd: "/", mcpServers: [] })).sessionId

const prompt = (editor: FarEditor, sessionId: string, text: string) =>
  editor.agent.request(session.prompt, { sessionId, prompt: textOf(text) })

/** The words of each message of the agent, as the log has them. */
const loggedWords = async (session_id: string) => {
  const { items } = await world().client.messages.list({ session_id, limit: 200 })
  return Object.fromEntries(
    items.flatMap(({ id, parts, role }) => {
      const words = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("")
      return role === "assistant" && words !== "" ? [[id, words]] : []
    })
  )
}

/** Sends a request as it is written, and gives its status. */
const statusOf = (
  url: string,
  { body = "", headers = {}, method = "GET" }: { body?: string; headers?: Record<string, string>; method?: string }
): Promise<number> =>
  new Promise((resolve, reject) => {
    const out = httpRequest(url, { method, headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    out.once("error", reject)
    out.once("upgrade", (answer: IncomingMessage, socket) => {
      socket.destroy()
      resolve(answer.statusCode ?? 0)
    })
    out.end(body)
  })

const offer = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AQIDBAUGBwgJCgsMDQ4PEA=="
}

const hello = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: 1, clientCapabilities: {} }
})

it("a WebSocket ends when its key is revoked, and that of another key does not", { timeout: limit }, async () => {
  const { client, url } = world()
  const [lost, kept] = [
    await client.apiKeys.create({ name: "lost", scopes: ["read", "write"] }),
    await client.apiKeys.create({ name: "kept", scopes: ["read", "write"] })
  ]
  const [first, second] = [
    await farEditor(ways.WebSocket({ url, apiKey: lost.secret })),
    await farEditor(ways.WebSocket({ url, apiKey: kept.secret }))
  ]
  await client.apiKeys.revoke({ key_id: lost.id })
  await first.closed
  assert.isString(await begun(second))
  second.close()
})

describe.each(["HTTP", "WebSocket"] as const)("an editor that comes over %s", (way) => {
  const come = (permission?: Parameters<typeof farEditor>[1]) => farEditor(ways[way](world()), permission)

  it("prompts, sees words and tools, is asked, and goes on in a new connection", { timeout: limit }, async () => {
    const editor = await come(allowing)
    const sessionId = await begun(editor)
    await editor.agent.request(session.setMode, { sessionId, modeId: "ask" })
    assert.strictEqual((await prompt(editor, sessionId, write)).stopReason, "end_turn")
    await eventually("all words", () => saidIn(editor.updates).includes("There it is."))
    assert.lengthOf(editor.asked, 1)
    const tool = toolsOf(editor.updates).find(({ title }) => title.includes("write"))
    assert.deepInclude(tool, { status: "completed" })
    assert.notInclude(JSON.stringify(editor.updates), "/apply")
    const listed = await editor.agent.request(session.list, {})
    assert.deepInclude(
      listed.sessions.find((each) => each.sessionId === sessionId),
      { cwd: "/" }
    )
    assert.isEmpty((await editor.agent.request(session.list, { cwd: "/home/me/project" })).sessions)

    // The connection is cut in a turn that asks, which goes on.
    editor.close()
    const cut = await come()
    await cut.agent.request(session.resume, { sessionId, cwd: "/", mcpServers: [] })
    void prompt(cut, sessionId, write).catch(() => undefined)
    await eventually("the question", () => cut.asked.length === 1)
    cut.close()
    const next = await come(allowing)
    await next.agent.request(session.load, { sessionId, cwd: "/", mcpServers: [] })
    await eventually("the end of the turn", async () => {
      const { activity } = await world().client.sessions.get({ session_id: sessionId })
      return activity === "idle"
    })
    const logged = await loggedWords(sessionId)
    await eventually("all that was said", () => JSON.stringify(wordsOf(next.updates)) === JSON.stringify(logged))
    assert.lengthOf(next.asked, 1)
    next.close()
  })

  it("cancels its turn", { timeout: limit }, async () => {
    const editor = await come()
    const sessionId = await begun(editor)
    const running = prompt(editor, sessionId, endlessTool())
    await eventually("a tool runs", () => toolsOf(editor.updates).some(({ title }) => title.includes("bash")))
    await editor.agent.notify(session.cancel, { sessionId })
    assert.strictEqual((await running).stopReason, "cancelled")
    editor.close()
  })

  it("begins from a project that it names, and from no folder of its own", { timeout: limit }, async () => {
    const { client, project, workspaceId: workspace_id } = world()
    const spec = { repository: { url: project.remote } }
    const made = await client.projects.create({
      workspace_id,
      slug: `of-${way.toLowerCase()}`,
      name: `Of ${way}`,
      spec
    })
    const editor = await come()
    const cwd = "/home/me/project"
    const refused = await editor.agent
      .request(session.new, { cwd, mcpServers: [] })
      .catch(({ code, message }) => ({ code, message }))
    assert.deepInclude(refused, { code: -32602 })
    assert.include(JSON.stringify(refused), "_meta.reins.project_id")
    const _meta = { reins: { project_id: made.id } }
    const { sessionId } = await editor.agent.request(session.new, { cwd, mcpServers: [], _meta })
    const { base } = await client.sessions.get({ session_id: sessionId })
    assert.strictEqual(base?.repository, project.remote)
    const { sessions } = await editor.agent.request(session.list, { cwd, _meta })
    assert.deepStrictEqual(
      sessions.map((each) => each.sessionId),
      [sessionId]
    )
    editor.close()
  })

  it("gets no file of the server", { timeout: limit }, async () => {
    const { client, directory } = world()
    const secret = join(directory, "secret.txt")
    writeFileSync(secret, "canary-of-the-server")
    const editor = await come()
    const { sessionId } = await editor.agent.request(session.new, { cwd: "/", mcpServers: [] })
    const uri = `file://${secret}`
    for (const cwd of ["/", directory, "/home/me/project"]) {
      await editor.agent.request(session.load, { sessionId, cwd, mcpServers: [] })
      await editor.agent.request(session.prompt, {
        sessionId,
        prompt: [...textOf(script("Look.", { say: "I have looked." })), { type: "resource_link", name: "secret", uri }]
      })
      await prompt(editor, sessionId, "/apply")
    }
    const { items } = await client.messages.list({ session_id: sessionId, limit: 200 })
    assert.notInclude(JSON.stringify(items), "canary-of-the-server")
    assert.notInclude(JSON.stringify(editor.updates), "canary-of-the-server")
    const uploads = await client.sessions.listFiles({ session_id: sessionId })
    assert.notInclude(JSON.stringify(uploads), "secret.txt")
    editor.close()
  })
})

describe("the address of editors", () => {
  const authorized = () => ({ authorization: `Bearer ${world().apiKey}` })
  const json = { "content-type": "application/json", accept: "application/json" }

  it("is not there unless the setting says so", async () => {
    const { apiKey, url } = withoutDoor()
    const headers = { authorization: `Bearer ${apiKey}`, ...json }
    assert.strictEqual(await statusOf(`${url}/acp`, { method: "POST", headers, body: hello }), 404)
    assert.strictEqual(await statusOf(`${url}/acp`, { headers: { ...headers, ...offer } }), 404)
  })

  it.each([
    ["a page of another site", { origin: "https://evil.example" }, 403],
    ["a page without an origin", { origin: "null" }, 403],
    ["a name that leads here", { host: "evil.example" }, 403],
    ["nobody", { authorization: "" }, 401],
    ["a wrong key", { authorization: `Bearer rk_${"0".repeat(49)}` }, 401],
    ["an app", { authorization: `Bearer roa_${"0".repeat(43)}` }, 401],
    ["a browser with cookies", { authorization: "", cookie: "reins_session=1" }, 401]
  ])("refuses %s, over both ways", async (_, headers, status) => {
    const { url } = world()
    const given = { ...authorized(), ...json, ...headers }
    assert.strictEqual(await statusOf(`${url}/acp`, { method: "POST", headers: given, body: hello }), status)
    assert.strictEqual(await statusOf(`${url}/acp`, { headers: { ...given, ...offer } }), status)
  })

  it("refuses a message that is too large, and ends a WebSocket that sends one", { timeout: limit }, async () => {
    const { url } = world()
    const large = "x".repeat(33 * 1024 * 1024)
    const headers = { ...authorized(), ...json, expect: "100-continue", "content-length": String(large.length) }
    assert.strictEqual(await statusOf(`${url}/acp`, { method: "POST", headers }), 413)
    const socket = new WebSocket(`${url.replace("http", "ws")}/acp`, { headers: authorized() })
    socket.on("error", () => undefined)
    const code = new Promise<number>((resolve) => socket.once("close", resolve))
    socket.once("open", () => socket.send(large))
    assert.strictEqual(await code, 1009)
  })

  it("ends a WebSocket that does not begin as the protocol does", async () => {
    const socket = new WebSocket(`${world().url.replace("http", "ws")}/acp`, { headers: authorized() })
    const code = new Promise<number>((resolve) => socket.once("close", resolve))
    socket.on("error", () => undefined)
    socket.once("open", () => socket.send('{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}'))
    assert.strictEqual(await code, 1002)
  })

  it("gives a key four connections, and another key none of them", { timeout: limit }, async () => {
    const { client, url, workspaceId: workspace_id } = world()
    const made = await client.apiKeys.create({ name: "of four", workspace_id, scopes: ["read", "write"] })
    const address = { url, apiKey: made.secret }
    const editors = await Promise.all([1, 2, 3, 4].map(() => farEditor(ways.WebSocket(address))))
    const headers = { authorization: `Bearer ${made.secret}`, ...json }
    assert.strictEqual(await statusOf(`${url}/acp`, { headers: { ...headers, ...offer } }), 429)
    assert.strictEqual(await statusOf(`${url}/acp`, { method: "POST", headers, body: hello }), 429)
    for (const editor of editors) editor.close()
    await eventually("room", async () => (await statusOf(`${url}/acp`, { headers: { ...headers, ...offer } })) === 101)

    const begin = await fetch(`${url}/acp`, { method: "POST", headers: { ...authorized(), ...json }, body: hello })
    const id = begin.headers.get("acp-connection-id") ?? ""
    assert.isNotEmpty(id)
    const end = (own: Record<string, string>) =>
      statusOf(`${url}/acp`, { method: "DELETE", headers: { ...own, "acp-connection-id": id } })
    assert.strictEqual(await end({ authorization: `Bearer ${made.secret}` }), 404)
    assert.strictEqual(await end(authorized()), 202)
    assert.strictEqual(await end(authorized()), 404)
  })

  it("serves a request that offers another upgrade as if it offered none", async () => {
    const { url } = world()
    const headers = { ...authorized(), connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMA" }
    assert.strictEqual(await statusOf(`${url}/api/me`, { headers }), 200)
    const body = JSON.stringify({ name: "of an upgrade", workspace_id: world().workspaceId, scopes: ["read"] })
    const posted = {
      ...headers,
      "idempotency-key": "of-an-upgrade",
      "content-type": "application/json",
      "content-length": String(body.length)
    }
    assert.strictEqual(await statusOf(`${url}/api/api-keys`, { method: "POST", headers: posted, body }), 201)
    assert.strictEqual(await statusOf(`${url}/api/me`, { headers: { ...authorized(), ...offer } }), 200)
  })
})
