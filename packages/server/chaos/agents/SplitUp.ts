import type { Reins } from "@reins/client"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert } from "vitest"

const model = "scripted-1"

const task = script("Write the file.", { tool: "bash", cmd: "echo from the child >child.txt" }, { say: "It is there." })

/** Has the parent's agent delegate to the child's, wait, read the diff, apply it and go on. Both files end in the parent's changeset. */
export const assertSplitsUp = async (
  client: Reins,
  workspace_id: string,
  {
    backend,
    child,
    parent
  }: { readonly backend?: "container" | "bubblewrap"; readonly child: string; readonly parent: string }
): Promise<void> => {
  const { id: session_id } = await client.sessions.create({
    workspace_id,
    harness: { provider_id: parent, model },
    ...(backend === undefined ? {} : { executor: { backend } })
  })
  const content = script(
    "Split this up.",
    { tool: "delegate", args: { name: "writer", instructions: task, provider: child, model } },
    { tool: "wait", args: { delegation_ids: ["writer"], for: "all", seconds: 80 } },
    { tool: "read_diff", args: { delegation_id: "writer" } },
    { tool: "apply_changeset", args: { delegation_id: "writer" } },
    { tool: "bash", cmd: "cat child.txt child.txt >parent.txt" },
    { say: "Done." }
  )
  const { turn } = await client.run({ session_id, content }).final()
  assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
  const calls = await client.toolCalls.list({ turn_id: turn.id })
  assert.deepStrictEqual(
    calls.items.map(({ state, tool }) => `${tool} ${state}`).reverse(),
    ["delegate", "wait", "read_diff", "apply_changeset"].map((tool) => `${tool} succeeded`)
  )
  const delegations = await client.sessions.listDelegations({ session_id })
  assert.deepStrictEqual(
    delegations.items.map(({ role, state }) => [role, state]),
    [["writer", "succeeded"]]
  )
  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  const { diff } = await client.changesets.getDiff({ changeset_id: changeset?.id ?? "" })
  assert.include(diff, "+++ b/child.txt\n@@ -0,0 +1 @@\n+from the child\n")
  assert.include(diff, "+++ b/parent.txt\n@@ -0,0 +1,2 @@\n+from the child\n+from the child\n")
}
