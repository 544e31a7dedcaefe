import { request } from "node:http"
import { Reins } from "@reins/client"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { endlessTool } from "@reins/testing/process/Turns"
import { rows } from "@reins/testing/Volume"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, describe, it } from "vitest"
import { git, worldForFile } from "../cli/Cli.js"
import {
  type Assistant,
  type AssistantOptions,
  type Era,
  endAssistants,
  type Fields,
  openAssistant,
  overHttp,
  overStdio
} from "./Assistant.js"

const world = worldForFile()
const asks = worldForFile({ manifests: askingAgents("supported") })
afterAll(endAssistants)

type World = ReturnType<typeof world>
type Way = "http" | "stdio"

const first: ReadonlyArray<readonly [Way, Era]> = [
  ["http", "2026"],
  ["stdio", "2025"]
]
const others: typeof first = [
  ["http", "2025"],
  ["stdio", "2026"]
]
const ways: Readonly<Record<typeof rows, typeof first>> = { first, others, all: [...first, ...others] }
const waysOfRest: typeof ways = {
  first: first.slice(0, 1),
  others: [...others, ...first.slice(1)],
  all: ways.all
}

const assistant = (way: Way, options: AssistantOptions, at: World = world(), unattended = false): Promise<Assistant> =>
  openAssistant(
    way === "http"
      ? overHttp(at.url, at.apiKey, unattended ? "?unattended=true" : "")
      : overStdio(at.at, unattended ? ["--unattended"] : []),
    options
  )

const write = script(
  "Write.",
  { say: "I write it.", tool: "write", path: "hello.txt", content: "hi\n" },
  { say: "There it is." }
)

const agent = { provider_id: "alpha", model: "scripted-1" }

const start = ({ call }: Assistant, { project }: World, message: string) =>
  call("start_session", { repository_url: project.remote, message, ...agent })

/** Waits as a model does: again and again, from where the last call ended. */
const follow = async ({ call }: Assistant, session_id: string): Promise<Fields> => {
  const said: Array<string> = []
  let after = 0
  for (;;) {
    const at = await call("wait", { session_id, after, seconds: 20 })
    said.push(at.said)
    after = at.next_after
    if (at.ended || at.questions.length > 0) return { ...at, said: said.filter((each) => each !== "").join("\n") }
  }
}

/** A session of the world whose agent asks before it writes. */
const asking = (one: Assistant) =>
  asks()
    .client.sessions.create({
      workspace_id: asks().workspaceId,
      repository: { url: asks().project.remote },
      harness: agent,
      permissions: { default: "allow", tools: { edit: "ask" } },
      message: write
    })
    .then(({ id }) => follow(one, id))

/** The tests that every run has on each way. */
const both = (way: Way, era: Era) => {
  it("starts a session, follows it, and reads what it changed", async () => {
    const one = await assistant(way, { era })
    assert.lengthOf((await one.client.listTools()).tools, 11)
    const { console_url, session_id } = await start(one, world(), write)
    assert.include(console_url, `/ui/sessions/${session_id}`)
    const { changeset, said, turn } = await follow(one, session_id)
    assert.strictEqual(turn.state, "succeeded")
    assert.match(said, /I write it\.[\s\S]*\[\w+\] .*: done[\s\S]*There it is\./)
    assert.deepInclude(changeset, { files: 1, additions: 1 })
    const { diff, next_offset } = await one.call("read_diff", { changeset_id: changeset.id })
    assert.match(diff, /\+hi/)
    assert.isNull(next_offset)
    assert.strictEqual((await one.call("read_file", { session_id, path: "hello.txt" })).content, "hi\n")
    const { sessions } = await one.call("list_sessions")
    assert.include(
      sessions.map(({ id }) => id),
      session_id
    )
  })

  it("lets the person answer the agent, and never the assistant by itself", async () => {
    const shown: Array<string> = []
    const refuse = (message: string) => {
      shown.push(message)
      return undefined
    }
    const one = await assistant(way, { era, person: (message) => refuse(message) }, asks())
    const { questions, session_id } = await asking(one)
    const { interaction_id, options } = questions[0] ?? assert.fail("nothing is asked")
    const allow = options.find(({ kind }) => kind === "allow_once")?.id
    // The person declines, whatever the assistant would take.
    const first = await one.call("answer", { session_id, interaction_id, option: allow })
    assert.strictEqual(first.state, "pending")
    assert.include(first.open, `/ui/sessions/${session_id}`)
    const { items } = await asks().client.interactions.list({ session_id, state: "pending" })
    assert.lengthOf(items, 1)
    // A request of 2025 over HTTP is no connection that could ask.
    assert.lengthOf(shown, way === "http" && era === "2025" ? 0 : 1)
    if (shown.length === 0) return
    // The person sees what is allowed, and where.
    for (const part of [session_id, asks().project.remote, "hello.txt", "hi"]) assert.include(shown[0], part)
    const two = await assistant(way, { era, person: () => allow }, asks())
    assert.strictEqual((await two.call("answer", { session_id, interaction_id })).state, "answered")
    assert.strictEqual((await follow(two, session_id)).turn.state, "succeeded")
  })
}

/** The tests that `npm test` has on one way, and the matrix on all. */
const rest = (way: Way, era: Era) => {
  it("is told all that was said, however short it waits", async () => {
    const one = await assistant(way, { era })
    const { session_id } = await start(one, world(), write)
    const { changeset, next_after } = await follow(one, session_id)
    const at = await one.call("wait", { session_id, seconds: 0 })
    assert.deepInclude(at, { ended: true, next_after })
    assert.match(at.said, /I write it\.[\s\S]*There it is\./)
    assert.strictEqual(at.changeset.id, changeset.id)
    const rest = await one.call("wait", { session_id, seconds: 0, after: next_after })
    assert.deepInclude(rest, { ended: true, said: "" })
  })

  it("starts nothing twice with one key, and answers a refusal of the API as a result", async () => {
    const one = await assistant(way, { era })
    const input = { repository_url: world().project.remote, message: write, ...agent, request_key: `k-${way}-${era}` }
    const made = await one.call("start_session", input)
    assert.strictEqual((await one.call("start_session", input)).session_id, made.session_id)
    assert.include(await one.refused("get_session", { session_id: "sess_00000000000000000000000000" }), "not_found")
    assert.include(await one.refused("start_session", { ...input, message: "Another." }), "idempotency")
    const { model: _, provider_id: __, request_key: ___, ...plain } = input
    assert.match(await one.refused("start_session", plain), /model_required.*provider_id.*alpha.*scripted-1/)
  })

  it("stops a turn, and takes the next message", async () => {
    const one = await assistant(way, { era })
    const { session_id, turn_id } = await start(one, world(), endlessTool())
    const early = await one.call("wait", { session_id, seconds: 0 })
    assert.isFalse(early.ended)
    await one.call("cancel_turn", { turn_id })
    assert.strictEqual((await follow(one, session_id)).turn.state, "cancelled")
    const { after } = await one.call("send_message", { session_id, message: script("Go on.", { say: "Again." }) })
    const { said, turn } = await one.call("wait", { session_id, after, seconds: 40 })
    assert.deepInclude({ said, state: turn.state }, { said: "Again.", state: "succeeded" })
  })

  it("names a page for the person where the program can show no question", async () => {
    const one = await assistant(way, { era }, asks())
    const { questions, session_id } = await asking(one)
    const { interaction_id, options } = questions[0] ?? assert.fail("nothing is asked")
    const told = await one.call("answer", { session_id, interaction_id, option: options[0]?.id })
    assert.deepInclude(told, { state: "pending" })
    const { items } = await asks().client.interactions.list({ session_id, state: "pending" })
    assert.lengthOf(items, 1)
    await asks()
      .client.sessions.archive({ session_id })
      .catch(() => undefined)
  })

  it("delivers when the person says so", async () => {
    const branch = `by-${way}-${era}`
    const person = era === "2026" || way === "stdio" ? { person: () => "deliver" } : {}
    const unattended = person.person === undefined
    const shown: Array<string> = []
    const refusing = (message: string) => {
      shown.push(message)
      return "no"
    }
    const refuses = await assistant(way, { era, ...(!unattended && { person: refusing }) })
    const { session_id } = await start(refuses, world(), write)
    const { changeset } = await follow(refuses, session_id)
    const input = { changeset_id: changeset.id, branch, title: "Say hello to all", merge_request: false }
    assert.include(["declined", "pending"], (await refuses.call("deliver", input)).state)
    const named = [
      session_id,
      world().project.remote,
      branch,
      input.title,
      changeset.id,
      "hello.txt",
      "Merge request: no"
    ]
    if (!unattended) for (const each of named) assert.include(shown[0], each)
    assert.notInclude(git(world().project.remote, "branch", "--list", branch), branch)
    const one = await assistant(way, { era, ...person }, world(), unattended)
    assert.deepInclude(await one.call("deliver", input), { state: "succeeded", branch })
    assert.strictEqual(git(world().project.remote, "show", `${branch}:hello.txt`), "hi")
  })
}

const title = "an assistant over %s in the protocol of %s"
describe.each(ways[rows])(title, both)
describe.each(waysOfRest[rows])(title, rest)

describe("the address /mcp", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
  }
  const ask = (headers: Readonly<Record<string, string>>, method = "POST") =>
    new Promise<{ readonly status: number; readonly body: string; readonly challenge: string | undefined }>(
      (resolve, reject) => {
        const { hostname, port } = new URL(world().url)
        const given = {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          authorization: `Bearer ${world().apiKey}`,
          ...headers
        }
        const out = request({ hostname, port, path: "/mcp", method, headers: given }, (answer) => {
          let body = ""
          answer.setEncoding("utf8").on("data", (piece) => {
            body += piece
          })
          answer.on("end", () =>
            resolve({ status: answer.statusCode ?? 0, body, challenge: answer.headers["www-authenticate"] })
          )
        })
        out.on("error", reject)
        out.end(method === "POST" ? JSON.stringify(initialize) : undefined)
      }
    )

  it("gives nothing to a page of another site, nor to one that leads here by a name of its own", async () => {
    const foreign = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "not a url" },
      { origin: "http://127.0.0.1:1" },
      { host: "evil.example" },
      { host: "127.0.0.1.evil.example" },
      { host: "localhost.evil.example:80" },
      { host: "127.0.0.1:port" },
      { host: "[::1" },
      { host: "127.0.0.1@evil.example" },
      { host: "\u00ff.example" }
    ]
    for (const headers of foreign) {
      const { body, status } = await ask(headers)
      assert.strictEqual(status, 403, JSON.stringify(headers))
      // A refusal says what was named, and what to set.
      assert.match(body, /REINS_PUBLIC_URL/)
    }
    const { host } = new URL(world().url)
    assert.strictEqual((await ask({ origin: `http://${host}` })).status, 200)
    assert.strictEqual((await ask({})).status, 200)
  })

  it("takes no cookie in the place of a key, and no wrong key", async () => {
    const { challenge, status } = await ask({ authorization: "", cookie: "reins_session_x=y" })
    assert.strictEqual(status, 401)
    assert.match(challenge ?? "", /^Bearer/)
    assert.strictEqual((await ask({ authorization: "Bearer rk_wrong" })).status, 401)
    assert.strictEqual((await ask({}, "GET")).status, 405)
    assert.strictEqual((await ask({}, "DELETE")).status, 405)
  })

  it("refuses an assistant at once when its key is revoked or may only read", async () => {
    const { client, url } = world()
    const readOnly = await client.apiKeys.create({ name: "reads", scopes: ["read"] })
    const one = await openAssistant(overHttp(url, readOnly.secret), { era: "2026" })
    await one.call("list_sessions")
    assert.include(await one.refused("start_session", { message: "Write." }), "insufficient_scope")
    await client.apiKeys.revoke({ key_id: readOnly.id })
    const gone = await one.client
      .callTool({ name: "list_sessions", arguments: {} })
      .catch((error: unknown) => String(error))
    assert.include(String(gone), "unauthenticated")
  })

  it("has tools that name operations of the client, in words that fit a conversation", async () => {
    const { tools } = await import("@reins/server/doors/mcp/McpDoor")
    const reins = new Reins({ baseUrl: world().url }) as unknown as Record<string, Record<string, unknown>>
    for (const { description, input, name, operations } of tools) {
      for (const operation of operations) {
        const [group = "", method = ""] = operation.split(".")
        assert.isFunction(reins[group]?.[method], `${name}: ${operation}`)
      }
      assert.isBelow(description.length, 500, name)
      assert.isAbove(Object.keys(input).length, 0, name)
    }
    const one = await openAssistant(overHttp(world().url, world().apiKey), { era: "2026" })
    assert.isBelow(JSON.stringify((await one.client.listTools()).tools).length, 16_000)
  })
})
