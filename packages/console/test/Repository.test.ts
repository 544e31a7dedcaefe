import { picture } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { worldForFile } from "./World.js"

const world = worldForFile()

describe("the repository of a new session", () => {
  it("is asked before, so that a missing one or a missing branch is a fault of its field and no session", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const page = await world.loggedIn("new")
    const start = page.getByRole("button", { name: "Start the session" })
    await page.getByLabel("Message").fill(script("Say it.", { say: "It is said." }))
    await page.getByLabel("Model").fill("scripted-1")
    const repository = page.getByLabel("Repository")
    await repository.fill(world.forge.url.replace(/[^/]+$/, "nope.git"))
    await start.click()
    await page.locator(".field.wrong").getByText("There is no public repository at this address.").waitFor()
    assert.strictEqual(await repository.getAttribute("aria-invalid"), "true")
    await picture(page, "repository-missing")
    await repository.fill(world.forge.url)
    await page.getByLabel("Branch").fill("nope")
    await start.click()
    await page.locator(".field.wrong").getByText("The repository has no such branch, tag or commit.").waitFor()
    const { items } = await client.sessions.list({ workspace_id: caller.workspaceId })
    assert.deepStrictEqual(items, [])
    await page.getByLabel("Branch").fill("")
    await start.click()
    await page.getByText("It is said.", { exact: true }).waitFor()
  })
})
