import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { coverageOf, modulesIn } from "./Coverage.js"

const place = placeForEachTest(inMemory)

/** The tools of the service that the model was offered last. */
let offered: ReadonlyArray<string> = []

/** The modules of the protocol of tools that a server has run, whose session had a turn with steps in a project with servers. */
const loadedBy = async (
  servers: ReadonlyArray<{ readonly name: string; readonly url: string; readonly allow: ReadonlyArray<string> }>,
  /** The tools of the service that the project lets its agents have, or that it has no say in. */
  { callsTools, own }: { readonly callsTools: boolean; readonly own?: ReadonlyArray<"wait"> },
  ...steps: ReadonlyArray<Parameters<typeof script>[1]>
) => {
  const env = { REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory, { callsTools }) }
  const scripts = await coverageOf(
    place.directory,
    async (server, dataDir) => {
      const { workspaceId: workspace_id, ...caller } = await newCaller(server, dataDir, place.gateway, env)
      const client = caller.at(server)
      const tools = { ...(servers.length > 0 && { mcp_servers: servers }), ...(own !== undefined && { own }) }
      const spec = Object.keys(tools).length === 0 ? {} : { tools }
      const { id: project_id } = await client.projects.create({ workspace_id, slug: "web", name: "Web", spec })
      const harness = { provider_id: "alpha", model: "scripted-1" }
      const session = await client.sessions.create({ workspace_id, project_id, harness })
      const content = script("Do it.", ...steps, { say: "Done." })
      const { turn_id } = await client.messages.send({ session_id: session.id, content })
      const turn = await client.turns.wait({ turn_id: turn_id ?? "" })
      assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
    },
    env
  )
  const names = modulesIn(scripts, true)
  offered = (place.gateway.requests.at(-1)?.tools ?? []).filter((name) => name.startsWith("reins"))
  // A turn has run, so the agent was spoken to.
  assert.isNotEmpty(names.filter((name) => name.startsWith("packages/machine/src/harness/acp/")))
  const packages = names.flatMap((name) => /@modelcontextprotocol\/(\w+)/.exec(name)?.[1] ?? [])
  return [...new Set(packages)].sort()
}

describe("a server whose sessions have run loads of the protocol of tools", () => {
  const bash = { tool: "bash", cmd: "true" }

  it("nothing for an agent that calls no tools", async () => {
    assert.deepStrictEqual(await loadedBy([], { callsTools: false }, bash), [])
  })

  it("nothing for a project that lets its agents have no tool, and offers none", async () => {
    assert.deepStrictEqual(await loadedBy([], { callsTools: true, own: [] }, bash), [])
    assert.deepStrictEqual(offered, [])
  })

  it("the server for a project that lets its agents have one, and offers that one", async () => {
    assert.include(await loadedBy([], { callsTools: true, own: ["wait"] }, bash), "server")
    assert.deepStrictEqual(offered, ["reins_wait", "reins_await_call"])
  })

  it("no client for a project that names no server", async () => {
    const own = await loadedBy([], { callsTools: true }, { tool: "wait", args: {} })
    assert.include(own, "server")
    assert.notInclude(own, "client")
  })

  it("the client for a project that names a server", async () => {
    const found = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(mcpServer(), ({ url }) =>
          Effect.promise(() => loadedBy([{ name: "lab", url, allow: ["get_issue"] }], { callsTools: true }, bash))
        )
      )
    )
    assert.include(found, "client")
  })
})
