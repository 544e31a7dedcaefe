import { Manifests } from "@reins/machine/harness/Manifests"
import { assert, describe, it } from "vitest"
import { reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: Manifests.layerIn({}), agentsBy: "owners" })

describe("an agent that is off", () => {
  it("is listed, and named with what turns it on", async () => {
    const { at } = world()
    const { stdout } = await reinsAt(at, ["agents", "list"])
    assert.match(stdout, /^AGENT +NAME +VERSION +STATE +ASKS FIRST\nalpha +OpenCode +\S+ +ready/)
    assert.match(stdout, /^goose +Goose +\d\S+ +off +-$/m)
    for (const [args, words] of [
      [
        ["run", "Go.", "--agent", "goose"],
        /Goose is off on this server\. .*: `reins agents enable goose`\. There are: OpenCode \(alpha\)/
      ],
      [
        ["agents", "enable", "copilot"],
        /licence of GitHub Copilot CLI is: proprietary\. .* --accept-license "propriet/
      ],
      [["agents", "enable", "copilot", "--accept-license", "MIT"], /licence of GitHub Copilot CLI is: proprietary\./],
      [["agents", "enable", "gamma"], /There is no agent "gamma"\. There are: OpenCode \(alpha\), /]
    ] as const) {
      const { status, stderr } = await reinsAt(at, args)
      assert.strictEqual(status, 1, args.join(" "))
      assert.match(stderr, words)
    }
    assert.match((await reinsAt(at, ["agents", "enable", "alpha"])).stderr, /OpenCode \(alpha\) is ready\.\n$/)
  })

  it("is turned on and installed by one command, for a server that runs", async () => {
    const { at, client } = world()
    // Its packages are those of alpha, so they are there.
    const { status, stderr } = await reinsAt(at, ["agents", "enable", "opencode"])
    assert.deepStrictEqual([status, stderr], [0, "OpenCode (opencode) is ready.\n"])
    const { available, items } = await client.catalog.listHarnesses()
    assert.deepInclude(
      items.find(({ provider_id }) => provider_id === "opencode"),
      { installed: true, source: "optional" }
    )
    assert.isFalse(available.some(({ provider_id }) => provider_id === "opencode"))
  })

  it("is offered to a person, who leaves it off", async () => {
    const { client, workspaceId } = world()
    const shown = terminal(world().at, ["run", "Go.", "--agent", "goose"])
    await shown.until(/Goose \(goose\) is off on this server\. Turn it on for everybody, and install it\?/)
    shown.type("n")
    const { status, text } = await shown.finished
    assert.strictEqual(status, 1)
    assert.include(text, "reins agents enable goose")
    assert.isEmpty((await client.sessions.list({ workspace_id: workspaceId })).items)
    const { items } = await client.catalog.listHarnesses()
    assert.notInclude(
      items.map(({ provider_id }) => provider_id),
      "goose"
    )
  })
})
