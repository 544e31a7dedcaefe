import { picture, watch } from "@reins/testing/browser/Browser"
import { eventually } from "@reins/testing/process/Waiting"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()

const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`).join("")

/** A tool call that the small agent asks leave for. */
const permit = (toolCall: object, more: object = {}) => ({
  tool: "permit",
  args: { toolCall: { toolCallId: "c1", status: "pending", ...toolCall }, ...more }
})

const command = (text: string) => ({ kind: "execute", title: "Run", rawInput: { command: text } })

/** A session whose agent asks, on its page. */
const asking = async (step: ReturnType<typeof permit>, size = desk) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { id: session_id } = await client.sessions.create({
    workspace_id: caller.workspaceId,
    harness,
    permissions: { default: "ask" },
    message: script("Work.", { tool: "bash", cmd: `printf '${lines.replaceAll("\n", "\\n")}' > notes.txt` }, step, {
      say: "Worked."
    })
  })
  // The first question is about the file that the second one is to change.
  const first = await eventually("a question", async () => {
    const { items } = await client.interactions.list({ session_id, state: "pending" })
    return items[0]
  })
  await client.interactions.answer({ interaction_id: first.id, answer: "once" })
  const question = async () => {
    const { items } = await client.interactions.list({ session_id })
    return items.find(({ id }) => id !== first.id)
  }
  await eventually("the second question", question)
  const page = await world.loggedIn(`sessions/${session_id}`, size)
  const card = page.locator(".question.pending")
  await card.waitFor()
  return { card, client, page, question, session_id }
}

/** Presses the key until the card is gone, because the key waits for half a second. */
const allowByKey = (page: Page) =>
  eventually("the key", async () => {
    await page.keyboard.press("Control+y")
    return (await page.locator(".question.pending").count()) === 0 ? true : undefined
  })

describe("the card of an approval", () => {
  for (const [name, size] of Object.entries({ desk, phone }))
    it(`shows both sides of an edit at its line, and a strong button, at ${size.width} px`, async () => {
      const content = [{ type: "diff", path: "notes.txt", oldText: "line 20", newText: "LINE 20" }]
      const { card, page, question } = await asking(permit({ kind: "edit", title: "Edit files", content }), size)
      const { complaints } = watch(page)
      const figure = card.getByRole("figure")
      await figure.waitFor()
      const text = await figure.innerText()
      for (const each of ["notes.txt", "line 17", "line 20", "LINE 20", "line 23"]) assert.include(text, each)
      assert.notInclude(text, "line 16")
      if (size === desk) assert.match(text, /20\s*\+?\s*LINE 20/)
      const allow = card.getByRole("button", { name: "Allow once" })
      assert.include(await allow.getAttribute("class"), "primary")
      assert.strictEqual(await card.locator("button.primary").count(), 1)
      await picture(page, `approval-card-${name}`)
      await allow.click()
      await page.getByText("Worked.", { exact: true }).first().waitFor()
      assert.deepInclude(await question(), { state: "answered", answer: "once" })
      assert.deepStrictEqual(complaints, [])
    })

  it("takes no letter of a draft for leave, and the key only where all of it is shown", async () => {
    const { card, page, question } = await asking(permit(command("npm test")))
    const composer = page.getByRole("textbox").first()
    await composer.click()
    await composer.pressSequentially("yes, y and allow it")
    for (const key of ["y", "Enter", "Control+y", "Control+y"]) await page.keyboard.press(key)
    assert.strictEqual((await question())?.state, "pending")
    await composer.fill("")
    await card.locator(".question-title").click()
    for (const key of ["y", "Enter", "a"]) await page.keyboard.press(key)
    assert.strictEqual((await question())?.state, "pending")
    await allowByKey(page)
    assert.deepInclude(await question(), { state: "answered", answer: "once" })
  })

  it("says what it cannot show, and takes a second click to allow it", async () => {
    const content = [{ type: "diff", path: "/etc/hosts", oldText: "a", newText: "b" }]
    const { card, page, question } = await asking(permit({ kind: "edit", title: "Edit files", content }))
    await card.getByText(/Not all of it can be shown: a path leads out of the files/).waitFor()
    assert.strictEqual(await card.getByRole("button", { name: "Allow once" }).count(), 0)
    assert.strictEqual(await card.locator("button.primary").count(), 0)
    await card.locator(".question-title").click()
    await page.keyboard.press("Control+y")
    await picture(page, "approval-card-incomplete")
    assert.strictEqual((await question())?.state, "pending")
    await card.getByRole("button", { name: "Allow it without seeing all" }).click()
    await card.getByRole("button", { name: "Allow once" }).click()
    await page.getByText("Worked.", { exact: true }).first().waitFor()
  })

  it("tells a call that the agent changes, and answers what it shows", async () => {
    const update = { sessionUpdate: "tool_call_update", toolCallId: "c1", rawInput: { command: "npm run clean" } }
    const later = { file: "go", update }
    const { card, client, page, question, session_id } = await asking(permit(command("npm test"), { later }))
    await card.getByText("npm test", { exact: true }).waitFor()
    const before = (await question())?.subject?.digest
    await client.sessions.uploadFile({ session_id, path: "go", content: "" })
    await card.getByText("npm run clean", { exact: true }).waitFor()
    await card.getByText("The agent has changed this since it asked.").waitFor()
    await picture(page, "approval-card-changed")
    const asked = await question()
    assert.notStrictEqual(asked?.subject?.digest, before)
    const stale = client.interactions.answer({
      interaction_id: asked?.id ?? "",
      answer: "once",
      ...(before !== undefined && { seen: before })
    })
    assert.strictEqual(
      (
        await stale.then(
          () => undefined,
          (error) => error
        )
      )?.code,
      "stale_subject"
    )
    await card.getByRole("button", { name: "Allow once" }).click()
    await page.getByText("Worked.", { exact: true }).first().waitFor()
    assert.deepInclude(await question(), { state: "answered", title: "Run" })
  })
})
