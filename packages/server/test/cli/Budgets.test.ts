import { budgetOf } from "@reins/cli/client/Budgets"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { keys, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile()

const message = script("Do it.", { tool: "bash", cmd: "true" }, { say: "All done." })
const run = ["run", message, "--model", "scripted-1", "--budget", "1"]

describe("a budget on the command line", () => {
  it("is said in tokens or dollars, and anything else is refused with the ways to say it", () => {
    assert.deepStrictEqual(["200000", "200k", "1.5m", "$2.50", "$3"].map(budgetOf), [
      { max_tokens: 200_000 },
      { max_tokens: 200_000 },
      { max_tokens: 1_500_000 },
      { max_cost_usd: 2.5 },
      { max_cost_usd: 3 }
    ])
    for (const wrong of ["", "0", "-5", "much", "2.50$", "1e9"])
      assert.throws(() => budgetOf(wrong), /Give tokens as in 200000/)
  })

  it("ends a run that nobody can raise it for, and is shown, raised and taken away by its id", async () => {
    const { at, client } = world()
    const { status, stderr } = await reinsAt(at, run)
    assert.strictEqual(status, 2, stderr)
    const id = /^Session (sess_\w+)$/m.exec(stderr)?.[1] ?? assert.fail(stderr)
    assert.include(stderr, `The budget of the session ${id} is used up. Raise it: reins budget ${id} AMOUNT`)
    assert.match(stderr, /The turn failed: .* 1,020 of 1 tokens are spent\. Raise it: reins budget sess_\w+ AMOUNT/)
    const listed = await reinsAt(at, ["sessions", "ls"])
    assert.match(listed.stdout, /UPDATED +MODEL +BUDGET +TITLE\n.* 1,020\/1 tokens {2}Do it\./)
    const raised = await reinsAt(at, ["budget", id, "50k"])
    assert.strictEqual(raised.stderr, "Spent so far: 1,020/50,000 tokens.\n")
    assert.strictEqual((await reinsAt(at, [...run, "--session", id])).status, 2)
    assert.strictEqual((await client.sessions.get({ session_id: id })).budget?.max_tokens, 50_000)
    assert.strictEqual((await reinsAt(at, ["budget", id, "none"])).stderr, "It has no budget any more.\n")
    const wrong = await reinsAt(at, ["budget", "con_1", "1"])
    assert.deepStrictEqual([wrong.status, wrong.stderr.includes("is not the id of a session")], [1, true], wrong.stderr)
  })

  it("is waited for on a terminal, where the run goes on once it is raised", async () => {
    const { at, client, workspaceId } = world()
    const shown = terminal(at, run)
    await shown.until(/Wait until somebody has raised it/)
    shown.type(keys.enter)
    const [session] = (await client.sessions.list({ workspace_id: workspaceId, limit: 1 })).items
    await client.sessions.update({ session_id: session?.id ?? "", budget: { max_tokens: 100_000 } })
    await shown.until(/All done\./)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
  })
})
