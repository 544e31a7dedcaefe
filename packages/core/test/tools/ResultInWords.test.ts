import { assert, describe, it } from "@effect/vitest"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { blindAgents, callingAgents } from "@reins/testing/harness/SmallAgent"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { toldBy } from "../delegations/Told.js"
import { isTurnEnd, withAgent } from "../execution/Agent.js"
import { begin, key, project } from "../mcp/ServerAgent.js"

const png = { type: "image", data: "aGk=", mimeType: "image/png" }
const resource = (more: object) => ({ type: "resource", resource: { uri: "file:///a.bin", ...more } })
const bytes = { blob: "aGk=" }

/** The answer of a server, then the text and the number of images that the agent gets. */
const answers: ReadonlyArray<readonly [string, object, readonly [string, number]]> = [
  ["nothing", { content: [] }, ["[The tool has answered, and its answer is empty.]", 0]],
  [
    "an empty text",
    { content: [{ type: "text", text: " " }] },
    ["[The tool has answered, and its answer is empty.]", 0]
  ],
  [
    "an error without words",
    { content: [], isError: true },
    ["[The tool has failed, and does not say why. Go on without it, or try something else.]", 0]
  ],
  ["an image", { content: [png] }, ["[1 image: image/png]", 1]],
  ["two images", { content: [png, png] }, ["[2 images: image/png, image/png]", 2]],
  ["words and an image", { content: [{ type: "text", text: "Here." }, png] }, ["Here.", 1]],
  ["a value", { content: [], structuredContent: { open: 3 } }, ['{"open":3}', 0]],
  ["a value and an image", { content: [png], structuredContent: { open: 3 } }, ['{"open":3}', 1]],
  ["a text as a resource", { content: [resource({ text: "Read me." })] }, ["Read me.", 0]],
  [
    "bytes as a resource",
    { content: [resource({ ...bytes, mimeType: "application/pdf" })] },
    ["[application/pdf that is not shown: file:///a.bin]", 0]
  ],
  [
    "an image as a resource",
    { content: [resource({ ...bytes, mimeType: "image/webp" })] },
    ["[1 image: image/webp]", 1]
  ],
  [
    "a link",
    { content: [{ type: "resource_link", name: "plan", uri: "https://lab.example/plan" }] },
    ["plan: https://lab.example/plan", 0]
  ],
  ["a sound", { content: [{ type: "audio", data: "aGk=", mimeType: "audio/wav" }] }, ["[audio that is not shown]", 0]]
]

/** A turn whose agent calls a tool of a server that answers with words and an image: what its model and the page get. */
const turnOf = (agents: typeof callingAgents, database: (typeof flowDatabases)[number]["layer"]) =>
  withAgent(
    "alpha_gateway",
    ({ eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const server = yield* mcpServer(key)
        server.result = { content: [{ type: "text", text: "Here." }, png] }
        const projects = yield* Projects
        const { id } = yield* projects.create(principal, workspaceId, { slug: "shop", name: "Shop" })
        yield* (yield* ProjectSecrets).put(principal, id, "LAB_KEY", Redacted.make(key))
        const headers = { Authorization: { secret: "LAB_KEY", prefix: "Bearer " } }
        const mcp_servers = [{ name: "lab", url: server.url, headers, allow: ["get_issue"] }]
        yield* projects.publish(principal, id, { spec: { tools: { mcp_servers } } })
        const session = yield* (yield* Sessions).create(principal, workspaceId, { project_id: id })
        const turn = yield* runTurn(session.id, script("Look.", { tool: "get_issue", args: {} }, { say: "Done." }))
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
        const events = yield* eventsUntil(session.id, isTurnEnd)
        const ended = events.filter(({ type }) => type === "tool.completed" || type === "tool.updated")
        return {
          model: toldBy(gateway).map(({ text }) => text),
          page: JSON.stringify(ended.map(({ payload }) => payload))
        }
      }),
    { allowPrivateHosts: ["127.0.0.1"] },
    agents,
    database
  )

const leftOut = "[1 image (image/png) left out: your program passes no images on to you. Ask for words instead.]"

for (const { layer, name } of flowDatabases) {
  describe(`answers in words on ${name}`, () => {
    it.scopedLive("an answer that is no text is told in words, whatever the server gives", () =>
      Effect.gen(function* () {
        const server = yield* mcpServer()
        const agent = yield* begin(yield* project({ name: "lab", url: server.url, allow: ["get_issue"] }, false))
        for (const [what, result, [text, images]] of answers) {
          server.result = result
          const answer = yield* agent.call("get_issue")
          assert.deepStrictEqual([answer.text, answer.images?.length ?? 0], [text, images], what)
        }
      }).pipe(Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"] })))
    )

    it.scopedLive("an agent gets the image of a server, and its page the words", () =>
      Effect.gen(function* () {
        const { model, page } = yield* turnOf(callingAgents, layer)
        assert.deepStrictEqual(model, ["Here.<image>"])
        assert.include(page, "Here.")
      })
    )

    it.scopedLive("an agent that passes no images on is told of them, and so is its page", () =>
      Effect.gen(function* () {
        const { model, page } = yield* turnOf(blindAgents, layer)
        assert.deepStrictEqual(model, [`Here.\n${leftOut}`])
        assert.include(page, "1 image (image/png) left out")
      })
    )
  })
}
