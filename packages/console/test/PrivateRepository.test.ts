import { picture } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { desk, phone, worldForFile } from "./World.js"

const world = worldForFile()

const task = script("Say it.", { say: "It is said." })

describe("a private repository of a new session", () => {
  it("has its token asked for in place, which is saved once, checked at once, and found by the next session", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { forge, forgeToken } = world
    forge.gate.token = forgeToken
    const { host } = new URL(forge.url)
    const page = await world.loggedIn("new")
    const start = page.getByRole("button", { name: "Start the session" })
    await page.getByLabel("Message").fill(task)
    await page.getByLabel("Model").fill("scripted-1")
    await page.getByLabel("Repository", { exact: true }).fill(forge.url)
    await start.click()
    const token = page.getByLabel(`Token for ${host}`)
    await token.waitFor()
    assert.isTrue(await token.evaluate((field) => field === document.activeElement))
    assert.strictEqual(await token.getAttribute("type"), "password")
    const link = page.getByRole("link", { name: `Make a token on ${host}` })
    assert.strictEqual(await link.getAttribute("href"), `${forge.base}/user/settings/applications`)
    assert.strictEqual(await page.getByRole("alert").count(), 0)
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      assert.deepStrictEqual(await findingsOf(page), [])
    }
    await page.emulateMedia({ colorScheme: "light" })
    await picture(page, "private-repository")
    await page.setViewportSize(phone)
    await picture(page, "private-repository-phone")
    await page.setViewportSize(desk)

    await token.fill("a-token-of-somebody-else")
    await page.keyboard.press("Enter")
    await page.locator(".field.wrong").getByText(`${host} does not open the repository with this token.`).waitFor()
    await picture(page, "private-repository-refused")
    const ofForge = async () =>
      (await client.connections.list({ workspace_id: caller.workspaceId }).all()).filter(
        ({ kind, state }) => kind === "gitea" && state === "active"
      )
    assert.deepStrictEqual(await ofForge(), [])
    assert.strictEqual(await page.getByLabel("Message").inputValue(), task)

    await token.fill(forgeToken)
    await page.keyboard.press("Enter")
    await page.getByText("It is said.", { exact: true }).waitFor()
    const [id = ""] = /sess_\w+/.exec(page.url()) ?? []
    const [connection, ...others] = await ofForge()
    assert.deepStrictEqual(others, [])
    assert.strictEqual(connection?.label, host)
    assert.strictEqual((await client.sessions.get({ session_id: id })).base.connection_id, connection?.id)
    assert.notInclude(await page.content(), forgeToken)

    await page.goto(`${world.server.url}/ui/new`)
    await page.getByLabel("Message").fill(task)
    await page.getByLabel("Repository", { exact: true }).fill(forge.url)
    await start.click()
    await page.getByText("It is said.", { exact: true }).waitFor()
  })

  it("is opened by the connection that is chosen by hand, or by none", async () => {
    const { forge } = world
    const page = await world.loggedIn("new")
    await page.getByLabel("Repository", { exact: true }).fill(forge.url)
    await page.getByText("More", { exact: true }).click()
    await page.getByLabel("Git connection").selectOption({ label: "none" })
    await page.getByRole("button", { name: "Start the session" }).click()
    await page.locator(".field.wrong").getByText("The Git connection that is chosen under More").waitFor()
    await page.getByLabel("Git connection").selectOption({ label: new URL(forge.url).host })
    await page.getByRole("button", { name: "Start the session" }).click()
    await page.waitForURL(/sess_/)
  })
})
