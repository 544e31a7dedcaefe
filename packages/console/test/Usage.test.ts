import { picture, watch } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { phone, worldForFile } from "./World.js"

const world = worldForFile()

/** Runs a turn with a model to its end. */
const turnWith = async (model: string) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { id } = await client.sessions.create({
    workspace_id: caller.workspaceId,
    harness: { provider_id: "alpha", model },
    message: script("Say it.", { say: "It is said." })
  })
  for await (const { type } of client.sessions.stream({ session_id: id })) if (type === "turn.succeeded") break
}

describe("the usage page", () => {
  it("shows usage by day and model, tells list prices from known ones, and leads to the form where a price is set", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    await turnWith("gpt-5.4")
    await turnWith("scripted-1")
    const page = await world.loggedIn("usage")
    const { complaints } = watch(page)
    const table = page.getByRole("region", { name: "Usage by model" })
    const listed = table.getByRole("row", { name: /gpt-5\.4/ })
    await listed.getByRole("link", { name: "list price" }).waitFor()
    assert.match(await listed.innerText(), /\$0\.\d+ list price/)
    assert.match((await listed.getByRole("link", { name: "list price" }).getAttribute("href")) ?? "", /^https:\/\//)
    const unknown = table.getByRole("row", { name: /scripted-1/ })
    assert.include(await unknown.innerText(), "unknown")
    await page.getByText("1 turn goes by list prices, which are estimates").waitFor()

    const chart = page.getByRole("region", { name: "Usage by day and model", exact: true })
    const drawn = chart.getByRole("img", { name: /^Cost by day from .+ to .+\. The most is \$0\.\d+ on/ })
    await drawn.waitFor()
    assert.strictEqual(await drawn.locator("rect.listed").count(), 1)
    await chart.getByText("Show the chart as a table").click()
    await chart.getByRole("table").getByText("list price").waitFor()
    await chart.getByLabel("Chart of").selectOption("tokens")
    await chart.getByRole("img", { name: /^Tokens by day/ }).waitFor()
    const legend = await chart.locator(".legend li").allInnerTexts()
    assert.sameMembers(
      legend.map((each) => each.trim()),
      ["gpt-5.4 · OpenCode", "scripted-1 · OpenCode"]
    )
    await picture(page, "usage-list-prices")

    await unknown.getByRole("link", { name: "Set a price" }).click()
    const dialog = page.getByRole("dialog", { name: "Set the price of scripted-1" })
    assert.strictEqual(await dialog.getByLabel("Model", { exact: true }).inputValue(), "scripted-1")
    await dialog.getByLabel("Input").fill("2")
    await dialog.getByLabel("Output").fill("8")
    await picture(page, "usage-set-price")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("prices of 1 model").waitFor()
    assert.strictEqual(page.url(), `${world.server.url}/ui/connections`)
    await turnWith("scripted-1")

    await client.workspaces.update({ workspace_id: caller.workspaceId, budget: { max_cost_usd: 5 } })
    await page.goto(`${world.server.url}/ui/usage`)
    await page.getByRole("img", { name: /^Cost of turns that have ended since .+: \$0\.\d+ of \$5\.00\./ }).waitFor()
    await table.getByRole("row", { name: /scripted-1/ }).waitFor()
    assert.notInclude(await table.getByRole("row", { name: /scripted-1/ }).innerText(), "unknown")
    await page.setViewportSize(phone)
    await page.emulateMedia({ colorScheme: "dark" })
    await picture(page, "usage-phone-dark")
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), phone.width)
    assert.deepStrictEqual(complaints, [])
  })

  it("asks for the connection where several fit", async () => {
    const caller = await world.caller()
    const { id } = await caller.at(world.server).connections.create({
      workspace_id: caller.workspaceId,
      kind: "alpha_gateway",
      label: "The other gateway",
      credential: { base_url: world.place.gateway.url, api_key: "another-key" }
    })
    const page = await world.loggedIn("connections?provider=alpha&price=gpt-5.4")
    await page.getByRole("dialog", { name: "Whose price of gpt-5.4?" }).getByText("The other gateway").click()
    const dialog = page.getByRole("dialog", { name: "Set the price of gpt-5.4" })
    assert.strictEqual(await dialog.getByLabel("Label").inputValue(), "The other gateway")
    await caller.at(world.server).connections.disconnect({ connection_id: id })
  })
})
