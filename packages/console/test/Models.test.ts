import { picture } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { harness, phone, worldForFile } from "./World.js"

const world = worldForFile()

const secondGateway = async () => {
  const caller = await world.caller()
  return caller.at(world.server).connections.create({
    workspace_id: caller.workspaceId,
    kind: "alpha_gateway",
    label: "The other gateway",
    credential: { base_url: world.place.gateway.url, api_key: "another-key" }
  })
}

describe("the model of a session", () => {
  it("is searched by keys in a list by connection, takes the connection with it, and comes first the next time", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { items } = await client.connections.list({ workspace_id: caller.workspaceId })
    const [first] = items.filter(({ kind }) => kind === "alpha_gateway")
    const other = await secondGateway()
    const page = await world.loggedIn("new")
    const model = page.getByRole("combobox", { name: "Model" })
    await model.click()
    const list = page.getByRole("listbox")
    await list.getByText("The other gateway").first().waitFor()
    assert.deepStrictEqual(await list.locator(".heading").allInnerTexts(), ["The other gateway", first?.label])
    assert.deepStrictEqual(await findingsOf(page), [])
    await picture(page, "models-open")
    await model.fill("")
    await page.keyboard.type("other scripted-2")
    await list.getByRole("option").filter({ hasNotText: "scripted-1" }).first().waitFor()
    assert.strictEqual(await list.getByRole("option").count(), 1)
    await page.keyboard.press("ArrowDown")
    assert.strictEqual(
      await model.getAttribute("aria-activedescendant"),
      await list.getByRole("option", { selected: true }).getAttribute("id")
    )
    await page.keyboard.press("Enter")
    await list.waitFor({ state: "detached" })
    assert.strictEqual(await model.inputValue(), "scripted-2")
    await page.getByLabel("Message").fill(script("Say it.", { say: "It is said." }))
    await page.getByRole("button", { name: "Start the session" }).click()
    await page.getByText("It is said.", { exact: true }).waitFor()
    const id = /sess_\w+/.exec(page.url())?.[0] ?? ""
    const { items: turns } = await client.turns.list({ session_id: id })
    await client.turns.wait({ turn_id: turns[0]?.id ?? "" })
    const made = await client.sessions.get({ session_id: id })
    assert.deepInclude(made.harness, { model: "scripted-2", connection_id: other.id })

    await page.goto(`${world.server.url}/ui/new`)
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[name=model]")?.value === "scripted-2")
    await model.click()
    await list.getByRole("option").first().waitFor()
    assert.match(await list.locator(".heading").first().innerText(), /^Used last · /)
    await page.keyboard.press("Escape")
    await list.waitFor({ state: "detached" })
    await client.connections.disconnect({ connection_id: other.id })
  })

  it("is changed in the composer, also on a phone, from the next turn on", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { id } = await client.sessions.create({ workspace_id: caller.workspaceId, harness })
    const page = await world.loggedIn(`sessions/${id}`, phone)
    await page.getByRole("button", { name: "Model: scripted-1" }).click()
    const list = page.getByRole("listbox", { name: "Model" })
    await list.getByText("scripted-2").waitFor()
    await picture(page, "models-composer-phone")
    assert.deepStrictEqual(await findingsOf(page), [])
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), phone.width)
    await list.getByText("scripted-2").click()
    await page.getByRole("button", { name: "Model: scripted-2" }).waitFor()
    assert.strictEqual((await client.sessions.get({ session_id: id })).harness.model, "scripted-2")
    // A gateway may take a model that it does not list.
    await page.getByRole("button", { name: "Model: scripted-2" }).click()
    await list.getByText("scripted-2").waitFor()
    await page.keyboard.type("my-own-model")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Model: my-own-model" }).waitFor()
  })
})
