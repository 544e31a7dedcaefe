import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { share } from "@reins/testing/Volume"
import { it } from "vitest"
import { enable } from "./Optional.js"
import { assertSplitsUp } from "./SplitUp.js"

const place = placeForEachTest(inHome)

/** A soak asks every pair. `core/agents/Tools` has those of OpenCode and Codex. */
const pairs = share(
  [["claude", "alpha"]] as const,
  [
    ["claude", "alpha"],
    ["alpha", "claude"],
    ["copilot", "alpha"],
    ["alpha", "copilot"],
    ["beta", "claude"],
    ["copilot", "beta"]
  ] as const
)

const places = pairs.flatMap(([parent, child]) =>
  share(["local"] as const, ["local", "bubblewrap"] as const).map((executor) => ({ parent, child, executor }))
)

for (const { child, executor, parent } of places)
  it(`${parent} delegates to ${child}, waits, reads the diff, applies it and goes on, in ${executor}`, async () => {
    const { dataDir, gateway } = place
    for (const id of [parent, child]) if (id === "claude" || id === "copilot") await enable(dataDir, id)
    const server = await startServer({ dataDir, env: { REINS_EXECUTOR: executor } })
    const { at, workspaceId: workspace_id } = await newCaller(server, dataDir, gateway)
    const client = at(server)
    const credential = { base_url: gateway.url, api_key: "gateway-key-canary-81" }
    for (const protocol of ["anthropic_messages", "openai_chat"] as const)
      await client.connections.create({
        workspace_id,
        kind: "gateway",
        label: protocol,
        credential: { ...credential, protocol }
      })
    await assertSplitsUp(client, workspace_id, { parent, child })
  })
