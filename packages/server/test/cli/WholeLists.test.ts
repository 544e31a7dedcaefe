import { pagesOfOne } from "@reins/testing/process/PagesOfOne"
import { assert, describe, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

// A command that shows a list shows all of it, however many pages the server makes of it.

const world = worldForFile()

const three = [1, 2, 3] as const

/** Three of each kind of thing that a command lists. */
const filled = async () => {
  const { client, gateway, workspaceId: workspace_id } = world()
  const credential = { base_url: gateway.url, api_key: "gateway-key" }
  await Promise.all(
    three.map((n) =>
      client.connections.create({ workspace_id, kind: "alpha_gateway", label: `gateway ${n}`, credential })
    )
  )
  for (const n of three) {
    const project = await client.projects.create({ workspace_id, slug: `project-${n}`, name: `Project ${n}`, spec: {} })
    await client.apiKeys.create({ name: `key ${n}`, scopes: ["read"] })
    await client.hooks.create({ workspace_id, label: `hook ${n}`, kind: "standard" })
    await client.automations.create({
      workspace_id,
      name: `automation ${n}`,
      trigger: { kind: "schedule", expression: "0 9 * * 1", timezone: "UTC" },
      target: {
        kind: "new_session",
        message: "Work.",
        project_id: project.id,
        harness: { provider_id: "alpha", model: "scripted-1" }
      }
    })
  }
}

const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["automations", "list"],
  ["connections", "list"],
  ["hooks", "list"],
  ["keys", "list"],
  ["projects", "list"],
  ["workspaces", "list"],
  ["requests"],
  ["models", "--agent", "alpha"]
]

describe("a list of several pages", () => {
  it("is shown whole by each command that lists", async () => {
    await filled()
    const { at, url } = world()
    const proxy = await pagesOfOne(url)
    try {
      for (const command of commands) {
        const [whole, paged] = [
          await reinsAt(at, [...command, "--json"]),
          await reinsAt({ ...at, env: { ...at.env, REINS_URL: proxy.url } }, [...command, "--json"])
        ]
        assert.strictEqual(whole.status, 0, `${command.join(" ")}: ${whole.stderr}`)
        assert.deepStrictEqual(paged, whole, command.join(" "))
      }
      assert.isAbove(proxy.lists.size, 5)
    } finally {
      proxy.close()
    }
  })
})
