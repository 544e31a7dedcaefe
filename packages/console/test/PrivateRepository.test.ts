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

  it("of a project is asked for in place too: by the form of automations, and for a session", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { forge, forgeToken } = world
    const { host } = new URL(forge.url)
    const { workspaceId: workspace_id } = caller
    for (const each of await client.connections.list({ workspace_id }).all())
      if (each.kind === "gitea" && each.state === "active")
        await client.connections.disconnect({ connection_id: each.id })
    const made = await client.projects.create({
      ...{ workspace_id, name: "Closed", slug: "closed" },
      spec: { repository: { url: forge.url }, harness: { provider_id: "alpha", model: "scripted-1" } }
    })
    const page = await world.loggedIn("automations")
    await page.getByRole("button", { name: "New automation" }).first().click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name", { exact: true }).fill("Nightly")
    await dialog.getByLabel("Message").fill(task)
    await dialog.getByLabel("Project").selectOption(made.id)
    await dialog.getByRole("button", { name: "Make the automation" }).click()
    const token = dialog.getByLabel(`Token for ${host}`)
    await token.waitFor()
    await picture(page, "private-repository-automation")
    await token.fill("a-wrong-token")
    await dialog.getByRole("button", { name: "Make the automation" }).click()
    await dialog.locator(".field.wrong").getByText(`${host} does not open the repository with this token.`).waitFor()
    assert.deepStrictEqual(await client.automations.list({ workspace_id }).all(), [])

    const other = await world.loggedIn("new")
    await other.getByLabel("Message").fill(task)
    await other.getByLabel("Project").selectOption(made.id)
    await other.getByRole("button", { name: "Start the session" }).click()
    await other.getByLabel(`Token for ${host}`).waitFor()

    await token.fill(forgeToken)
    await dialog.getByRole("button", { name: "Make the automation" }).click()
    await dialog.waitFor({ state: "detached" })
    assert.lengthOf(await client.automations.list({ workspace_id }).all(), 1)

    // Without the connection, a change of something else is saved all the same.
    for (const each of await client.connections.list({ workspace_id }).all())
      if (each.kind === "gitea" && each.state === "active")
        await client.connections.disconnect({ connection_id: each.id })
    await page.getByRole("button", { name: "Change" }).first().click()
    await dialog.getByLabel("Name", { exact: true }).fill("Weekly")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    assert.strictEqual((await client.automations.list({ workspace_id }).all())[0]?.name, "Weekly")
    await client.connections.create({
      ...{ workspace_id, kind: "gitea", label: host },
      credential: { base_url: forge.base, token: forgeToken }
    })

    // The connection is there now, so the other form goes on without a token.
    await other.getByLabel("Project").selectOption("")
    await other.getByLabel("Project").selectOption(made.id)
    await other.getByRole("button", { name: "Start the session" }).click()
    await other.getByText("It is said.", { exact: true }).waitFor()
  })
})
