import { picture, watch } from "@reins/testing/browser/Browser"
import { endless, endlessTool } from "@reins/testing/process/Turns"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, talkative, worldForFile } from "./World.js"

const world = worldForFile()

/** A picture of one pixel. */
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

/** A new session of the owner, and a page that shows it. */
const sessionOn = async (given: object = {}, size = desk) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const session = await client.sessions.create({ workspace_id: caller.workspaceId, harness, ...given })
  const page = await world.loggedIn(`sessions/${session.id}`, size)
  return { caller, client, session, page }
}

const say = async (page: Page, words: string) => {
  await page.getByLabel("Message").fill(words)
  await page.getByRole("button", { name: "Send" }).click()
}

describe("the work on a session in the console", () => {
  it("fills in the form of an agent by keys, on a phone as well, and its values arrive", async () => {
    const schema = {
      type: "object",
      properties: {
        name: { type: "string", title: "Name", minLength: 3 },
        count: { type: "integer", title: "Count", minimum: 1, maximum: 9 },
        colour: { type: "string", title: "Colour", enum: ["red", "green"] },
        sure: { type: "boolean", title: "Sure" }
      },
      required: ["name", "count", "colour"]
    }
    const message = script("Ask.", { tool: "elicit", args: schema }, { say: "Thank you." })
    const { client, page, session } = await sessionOn({ message }, phone)
    const form = page.getByRole("region", { name: "Which one?" })
    await form.getByLabel("Name").fill("Ada")
    await form.getByLabel("Count").fill("3")
    await form.getByLabel("Colour").selectOption("green")
    await form.getByLabel("Sure").check()
    await picture(page, "form-phone")
    // Enter in a field sends the form, as everywhere.
    await form.getByLabel("Count").press("Enter")
    await page.getByText("Thank you.", { exact: true }).waitFor()
    const [answered] = (await client.interactions.list({ session_id: session.id })).items
    assert.deepStrictEqual(answered?.content, { name: "Ada", count: 3, colour: "green", sure: true })
  })

  it("sends files and pictures with a message, shows them, and the agent finds them", async () => {
    const { page } = await sessionOn()
    const { complaints } = watch(page)
    await page.locator("input[type=file]").setInputFiles([
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Mind the gap.\n") },
      { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(dot, "base64") },
      { name: "wrong.txt", mimeType: "text/plain", buffer: Buffer.from("no") }
    ])
    await page.getByRole("button", { name: "Leave uploads/wrong.txt out" }).click()
    await page.getByText("uploads/dot.png").waitFor()
    await say(page, script("Read.", { tool: "bash", cmd: "cat uploads/notes.txt" }, { say: "I have read it." }))
    await page.getByText("I have read it.", { exact: true }).waitFor()
    await page.locator("summary", { hasText: "cat uploads/notes.txt" }).click()
    await page.locator(".output").getByText("Mind the gap.").waitFor()
    const shown = page.getByRole("img", { name: "uploads/dot.png" })
    await shown.waitFor()
    assert.strictEqual(await shown.evaluate((image) => (image instanceof HTMLImageElement ? image.naturalWidth : 0)), 1)
    await picture(page, "message-picture")
    await page.getByRole("link", { name: "Files" }).click()
    await page.getByRole("button", { name: "uploads/" }).click()
    await page.getByRole("button", { name: "dot.png" }).click()
    await page.getByRole("img", { name: "uploads/dot.png" }).waitFor()
    await page.getByText("wrong.txt").waitFor()
    assert.deepStrictEqual(complaints, [])
  })

  it("steers a running turn, interrupts it, cancels the next and retries it", async () => {
    const { client, page, session } = await sessionOn({ harness: talkative })
    await say(
      page,
      script("Wait.", { tool: "bash", cmd: "until test -e go; do read -t 0.1 < <(:); done" }, { say: "Heard." })
    )
    await page.locator("summary", { hasText: "until test -e go" }).waitFor()
    await page.getByLabel("When").selectOption("steer")
    await say(page, "Mind the tests.")
    await page.getByText(/You · into the running turn/).waitFor()
    await client.sessions.uploadFile({ session_id: session.id, path: "go", content: "" })
    await page.getByText("Heard.", { exact: true }).waitFor()

    await say(page, endless())
    await page.locator("summary", { hasText: "echo begun" }).waitFor()
    await page.getByLabel("When").selectOption("interrupt")
    await say(page, endlessTool())
    await page.getByText(/You · instead of the running turn/).waitFor()
    await page.locator("summary", { hasText: "tail -s 37" }).waitFor()
    await page.getByRole("button", { name: "Cancel" }).click()
    const retry = page.getByRole("button", { name: "Retry" })
    await retry.waitFor()
    await picture(page, "cancelled")
    const before = (await client.turns.list({ session_id: session.id })).items.length
    await retry.click()
    await page.getByRole("button", { name: "Cancel" }).waitFor()
    assert.strictEqual((await client.turns.list({ session_id: session.id })).items.length, before + 1)
    await page.getByRole("button", { name: "Cancel" }).click()
    await retry.waitFor()
  })

  it("raises the budget that a turn waits for, from the page, and the turn goes on", async () => {
    const message = script("Do it.", { tool: "bash", cmd: "true" }, { say: "All done." })
    const { client, page, session } = await sessionOn({ title: "A thrifty one", budget: { max_tokens: 1 }, message })
    const question = page.getByRole("region", { name: "The budget of the session is used up" })
    await question.getByText("1,020 of 1 tokens spent").waitFor()
    await picture(page, "budget-asks")
    await question.getByRole("button", { name: "Raise the budget" }).click()
    await page.getByRole("dialog").getByLabel("Tokens in all").fill("60000")
    await page.getByRole("button", { name: "Change the budget" }).click()
    await page.getByText("All done.", { exact: true }).waitFor()
    assert.strictEqual((await client.sessions.get({ session_id: session.id })).budget?.max_tokens, 60_000)

    await page.getByRole("link", { name: "Usage", exact: true }).click()
    const card = page.getByRole("region", { name: "Budget of the session" })
    await card.getByText(/of 60,000 tokens spent/).waitFor()
    await page.getByRole("region", { name: "Usage by model" }).getByText("OpenCode · scripted-1").waitFor()
    await picture(page, "session-usage")
    await card.getByRole("button", { name: "Change the budget" }).click()
    await page.getByRole("button", { name: "Take the budget away" }).click()
    await page.getByText("Take it away?").waitFor()
    await page.keyboard.press("Enter")
    await card.getByText("It may spend without a limit of its own.").waitFor()
  })

  it("ends a turn whose budget nobody raises", async () => {
    const message = script("Do it.", { tool: "bash", cmd: "true" }, { say: "All done." })
    const { page } = await sessionOn({ budget: { max_tokens: 1 }, message })
    await page.getByRole("button", { name: "End the turn" }).click()
    await page
      .getByText(/is used up, and it was not raised/)
      .first()
      .waitFor()
  })

  it("applies a changeset to another session, after a try that writes nothing", async () => {
    const source = { repository: { url: world.forge.url } }
    const target = await sessionOn({ ...source, title: "The other one", message: script("Look.", { say: "I look." }) })
    await target.page.getByText("I look.", { exact: true }).waitFor()
    await target.page.close()
    const write = { tool: "write", path: "b.js", content: "export const b = 2\n" }
    const { page } = await sessionOn({ ...source, message: script("Write.", write, { say: "Written." }) })
    // The diff comes when the dialog is open already, and leaves it open.
    let giveDiff = () => {}
    const opened = new Promise<void>((resolve) => {
      giveDiff = resolve
    })
    await page.route("**/diff*", (route) => opened.then(() => route.continue()))
    await page.getByRole("link", { name: "Review" }).click()
    await page.getByRole("button", { name: "Apply to a session" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.waitFor()
    giveDiff()
    await page.getByText("export const b").waitFor()
    await page.locator("dialog:modal").waitFor()
    await dialog.getByLabel("Session", { exact: true }).selectOption({ label: "The other one" })
    await dialog.getByLabel("Dry run, which writes nothing").check()
    await dialog.getByRole("button", { name: "Apply" }).click()
    await dialog.getByText("Nothing was written. 1 file changed.").waitFor()
    const files = async () => (await target.client.sessions.listFiles({ session_id: target.session.id })).items
    assert.notInclude(
      (await files()).map(({ path }) => path),
      "b.js"
    )
    await dialog.getByLabel("Dry run, which writes nothing").uncheck()
    await dialog.getByRole("button", { name: "Apply" }).click()
    await dialog.getByText("Nothing was written.").waitFor({ state: "detached" })
    await dialog.getByText("1 file changed.").waitFor()
    await picture(page, "applied")
    assert.include(
      (await files()).map(({ path }) => path),
      "b.js"
    )
    await dialog.getByRole("link", { name: "Go to the session" }).click()
    await page.getByRole("heading", { name: "The other one" }).waitFor()
  })
})
