import { picture, watch } from "@reins/testing/browser/Browser"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { harness, phone, worldForFile } from "./World.js"

const world = worldForFile("calling")

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

/** Pictures at the desk and at the phone, and what axe finds there. */
const looksOf = async (page: Page, name: string): Promise<void> => {
  const desk = page.viewportSize()
  assert.deepStrictEqual(await findingsOf(page), [])
  await picture(page, `${name}-desk`)
  await page.setViewportSize(phone)
  assert.deepStrictEqual(await findingsOf(page), [])
  await picture(page, `${name}-phone`)
  assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
  if (desk !== null) await page.setViewportSize(desk)
}

describe("the functions of callers in the console", () => {
  it("are answered by a person, who sees what is sent, and the call shows its input and its answer", async () => {
    const { workspaceId: workspace_id, ...caller } = await world.caller()
    const client = caller.at(world.server)
    const { id: session_id } = await client.sessions.create({ workspace_id, title: "Triage", harness })
    await client.messages.send({
      session_id,
      content: script(
        "Triage it.",
        { tool: "lookup_ticket", args: { ticket: 7 } },
        { tool: "lookup_ticket", args: { ticket: 8 } },
        { say: "Both are triaged." }
      ),
      tools: { functions: [lookup] }
    })
    const page = await world.loggedIn(`sessions/${session_id}`)
    const { complaints } = watch(page)
    await page.getByText("The agent calls a function with this input:").first().waitFor()
    const result = page.getByLabel("Result")
    await result.fill('{"title": ')
    await page.getByText("Sent as text.").waitFor()
    await result.fill('{"title": "The cart is empty"}')
    await page.getByText("Sent as JSON.").waitFor()
    await looksOf(page, "function-asked")
    // Each part of the session can be reached on a phone without a hidden scroll.
    const desk = page.viewportSize()
    await page.setViewportSize(phone)
    const parts = page.getByRole("navigation", { name: "Parts of the session" }).getByRole("link")
    for (const part of await parts.all()) {
      const box = await part.boundingBox()
      assert.isAtMost((box?.x ?? Number.NaN) + (box?.width ?? Number.NaN), phone.width, await part.innerText())
    }
    if (desk !== null) await page.setViewportSize(desk)
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await page.getByText('"ticket": 8').first().waitFor()
    await page.getByLabel("Result").fill("There is no ticket 8.")
    await page.getByLabel("The call failed").check()
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await page.getByText("Both are triaged.", { exact: true }).waitFor()

    const cards = page.locator("details").filter({ hasText: "lookup_ticket" })
    await cards.first().locator("summary").click()
    await cards.first().getByText("The cart is empty").waitFor()
    await cards
      .first()
      .getByText(/"?ticket"?: 7/)
      .waitFor()
    await looksOf(page, "function-answered")
    const told = (await client.interactions.list({ session_id })).items.map(({ is_error, result: given }) => [
      given,
      is_error
    ])
    assert.deepStrictEqual(told, [
      ["There is no ticket 8.", true],
      [{ title: "The cart is empty" }, false]
    ])
    assert.deepStrictEqual(complaints, [])
  })
})
