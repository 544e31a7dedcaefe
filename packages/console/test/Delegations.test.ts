import { picture, watch } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { harness, phone, worldForFile } from "./World.js"

const world = worldForFile("calling")

const tester = script(
  "Test the sum.",
  { tool: "write", path: "sum.test.js", content: "import './sum.js'\n" },
  { say: "Tested." }
)

const writer = script(
  "Write the sum.",
  { tool: "write", path: "sum.js", content: "export const sum = (a, b) => a + b\n" },
  { tool: "delegate", args: { name: "tester", instructions: tester } },
  { tool: "wait", args: {} },
  { say: "Written." }
)

describe("the delegations of a session in the console", () => {
  it("are a tree with state, agent and time, whose diffs are opened with the keyboard", async () => {
    const { workspaceId: workspace_id, ...caller } = await world.caller()
    const client = caller.at(world.server)
    const { id: session_id } = await client.sessions.create({
      workspace_id,
      title: "Split the work",
      harness,
      message: script(
        "Split it.",
        { tool: "delegate", args: { name: "writer", instructions: writer } },
        { tool: "delegate", args: { name: "reader", instructions: script("Read.", { say: "Read." }) } },
        { tool: "wait", args: {} },
        { say: "All done." }
      )
    })
    const page = await world.loggedIn(`sessions/${session_id}`)
    const { complaints } = watch(page)
    await page
      .getByRole("navigation", { name: "Parts of the session" })
      .getByRole("link", { name: "Delegations" })
      .click()
    const tree = page.getByRole("region", { name: "Delegations" })
    const child = (name: string) =>
      tree
        .getByRole("listitem")
        .filter({ has: page.getByRole("link", { name, exact: true }) })
        .last()
    await child("tester").getByText("succeeded").waitFor()
    await child("reader").getByText("succeeded").waitFor()
    await child("writer").getByText("succeeded").first().waitFor()
    assert.strictEqual(await tree.getByRole("list").count(), 2)
    assert.match(await child("reader").innerText(), /OpenCode · \d+ s/)
    assert.strictEqual(
      await child("reader")
        .getByText(/^Diff of/)
        .count(),
      0
    )

    // The diff is opened and closed without a mouse.
    const diff = child("tester").getByText(/^Diff of 1 file/)
    await diff.focus()
    await page.keyboard.press("Enter")
    await child("tester").getByText("import './sum.js'").waitFor()
    assert.deepStrictEqual(await findingsOf(page), [])
    await picture(page, "delegations-desk")
    await page.setViewportSize(phone)
    await child("tester").getByText("import './sum.js'").waitFor()
    assert.deepStrictEqual(await findingsOf(page), [])
    await picture(page, "delegations-phone")
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
    await diff.focus()
    await page.keyboard.press("Enter")
    await child("tester").getByText("import './sum.js'").waitFor({ state: "detached" })

    // A child leads to its own part of the tree and back.
    await child("writer").getByRole("link", { name: "writer", exact: true }).click()
    await page.getByRole("heading", { name: "writer" }).waitFor()
    await page.getByRole("link", { name: "Delegations" }).click()
    await child("tester").waitFor()
    await page.getByRole("link", { name: "Split the work" }).click()
    await child("writer").first().waitFor()
    assert.deepStrictEqual(complaints, [])
  })
})
