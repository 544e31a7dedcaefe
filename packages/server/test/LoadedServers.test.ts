import { manifestsWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { mcpServer } from "@reins/testing/mcp/McpServer"
import { newCaller } from "@reins/testing/process/Caller"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { coverageOf, modulesIn } from "./Coverage.js"

const place = placeForEachTest(inMemory)

/** The modules of the protocol of tools that a server has run, whose session had a turn with steps in a project with servers. */
const loadedBy = async (
  servers: ReadonlyArray<{ readonly name: string; readonly url: string; readonly allow: ReadonlyArray<string> }>,
  callsTools: boolean,
  ...steps: ReadonlyArray<Parameters<typeof script>[1]>
) => {
  const env = { REINS_MANIFESTS_DIR: manifestsWithSmallAgent(place.directory, { callsTools }) }
  const scripts = await coverageOf(
    place.directory,
    async (server, dataDir) => {
      const { workspaceId: workspace_id, ...caller } = await newCaller(server, dataDir, place.gateway, env)
      const client = caller.at(server)
      const spec = servers.length === 0 ? {} : { tools: { mcp_servers: servers } }
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
  const names = modulesIn(scripts, true).map(({ functionName }) => functionName)
  // A turn has run, so the agent was spoken to.
  assert.isNotEmpty(names.filter((name) => name.startsWith("packages/core/src/harness/acp/")))
  const packages = names.flatMap((name) => /@modelcontextprotocol\/(\w+)/.exec(name)?.[1] ?? [])
  return [...new Set(packages)].sort()
}

describe("a server whose sessions have run loads of the protocol of tools", () => {
  const bash = { tool: "bash", cmd: "true" }

  it("nothing for an agent that calls no tools", async () => {
    assert.deepStrictEqual(await loadedBy([], false, bash), [])
  })

  it("no client for a project that names no server", async () => {
    const own = await loadedBy([], true, { tool: "wait", args: {} })
    assert.include(own, "server")
    assert.notInclude(own, "client")
  })

  it("the client for a project that names a server", async () => {
    const found = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(mcpServer(), ({ url }) =>
          Effect.promise(() => loadedBy([{ name: "lab", url, allow: ["get_issue"] }], true, bash))
        )
      )
    )
    assert.include(found, "client")
  })
})
