import { ProtocolErrorCode } from "@modelcontextprotocol/client"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, describe, it } from "vitest"
import { worldForFile } from "../cli/Cli.js"
import { type Assistant, type Era, endAssistants, openAssistant, overHttp, overStdio } from "./Assistant.js"

const world = worldForFile()
afterAll(endAssistants)

const ways = (["http", "stdio"] as const).flatMap((way) =>
  (["2025", "2026"] as const).map((era) => [way, era] as const)
)

/** A session whose agent has written a file, and its changeset. */
const worked = async () => {
  const { client, project, workspaceId } = world()
  const { id: session_id } = await client.sessions.create({
    workspace_id: workspaceId,
    title: "Write the greeting",
    repository: { url: project.remote },
    harness: { provider_id: "alpha", model: "scripted-1" },
    message: script("Write.", { tool: "write", path: "hello.txt", content: "hi\n" }, { say: "There it is." })
  })
  for await (const { type } of client.sessions.stream({ session_id, after: 0 })) if (type === "turn.succeeded") break
  const { items } = await client.sessions.listChangesets({ session_id, limit: 1 })
  return { session_id, changeset_id: items[0]?.id ?? assert.fail("nothing was changed") }
}

/** The one text of a resource. */
const read = async ({ client }: Assistant, uri: string) => {
  const [content] = (await client.readResource({ uri })).contents
  if (content === undefined || !("text" in content)) return assert.fail(`${uri} has no text`)
  assert.strictEqual(content.uri, uri)
  return { text: content.text, type: content.mimeType }
}

const codeOf = ({ client }: Assistant, uri: string): Promise<unknown> =>
  client.readResource({ uri }).then(
    () => "read",
    (error: unknown) => (error as { readonly code?: unknown }).code
  )

const hostile = [
  "reins://sessions/sess_00000000000000000000000000",
  "reins://changesets/cs_00000000000000000000000000/diff",
  "reins://sessions/",
  "reins://sessions/%2e%2e",
  "reins://sessions/..%2f..%2fapi-keys",
  "reins://sessions/x?after=0",
  `reins://sessions/${"x".repeat(3000)}`,
  "reins://changesets/x/files",
  "reins://keys/x",
  "file:///etc/passwd",
  "http://127.0.0.1/api/me"
]

describe.each(ways)("the resources over %s in the protocol of %s", (way, era: Era) => {
  const connected = (apiKey = world().apiKey) => {
    const { at, url } = world()
    const own = { ...at, env: { ...at.env, REINS_API_KEY: apiKey } }
    return openAssistant(way === "http" ? overHttp(url, apiKey) : overStdio(own), { era })
  }

  it("list the newest sessions, and give a session and a diff to a conversation", async () => {
    const { changeset_id, session_id } = await worked()
    const one = await connected()
    const { resourceTemplates } = await one.client.listResourceTemplates()
    assert.deepStrictEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["reins://sessions/{id}", "reins://changesets/{id}/diff"]
    )
    const { resources } = await one.client.listResources()
    const uri = `reins://sessions/${session_id}`
    assert.deepInclude(
      resources.find((each) => each.uri === uri),
      { name: "Write the greeting", mimeType: "application/json" }
    )
    const session = await read(one, uri)
    assert.strictEqual(session.type, "application/json")
    const { changeset, console_url, turn } = JSON.parse(session.text)
    assert.deepEqual([changeset.id, turn.state], [changeset_id, "succeeded"])
    assert.include(console_url, `/ui/sessions/${session_id}`)
    const diff = await read(one, `reins://changesets/${changeset_id}/diff`)
    assert.strictEqual(diff.type, "text/x-diff")
    assert.include(diff.text, "+hi")
  })

  it("give nothing else, and nothing of another workspace", async () => {
    const { changeset_id, session_id } = await worked()
    const { client } = world()
    const { id: workspace_id } = await client.workspaces.create({ name: `Second ${way} ${era}` })
    const { secret } = await client.apiKeys.create({ name: "second", scopes: ["read"], workspace_id })
    const [one, second] = [await connected(), await connected(secret)]
    for (const uri of hostile) assert.strictEqual(await codeOf(one, uri), ProtocolErrorCode.InvalidParams, uri)
    for (const uri of [`reins://sessions/${session_id}`, `reins://changesets/${changeset_id}/diff`]) {
      assert.strictEqual(await codeOf(one, uri), "read")
      assert.strictEqual(await codeOf(second, uri), ProtocolErrorCode.InvalidParams)
    }
    if (way === "http") assert.lengthOf((await second.client.listResources()).resources, 0)
  })
})
