import { readFileSync } from "node:fs"
import type { Changeset, Reins } from "@reins/client"
import { picture, watch } from "@reins/testing/browser/Browser"
import { eventually } from "@reins/testing/process/Waiting"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { desk, harness, phone, type Size, worldForFile } from "./World.js"

const world = worldForFile()

/** Looks at a page by light and dark, and holds it to axe and to the width of its window. */
const look = async (page: Page, name: string): Promise<void> => {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    await picture(page, `${name}-${scheme}`)
    assert.deepStrictEqual(await findingsOf(page), [], `${name} ${scheme}`)
  }
  assert.isTrue(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name)
}

const write = (content: string, say: string) =>
  script(`Write it. ${say}`, { tool: "write", path: "sum.js", content }, { say })

/** A session whose agent has written a file. */
const session = async (title: string, message = write("one\ntwo\nthree\n", "The sum is written.")) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { workspaceId: workspace_id } = caller
  const { id } = await client.sessions.create({ workspace_id, harness, title, repository: { url: world.forge.url } })
  await client.run({ session_id: id, content: message }).final()
  return { client, id }
}

const newest = async (client: Reins, session_id: string, count: number): Promise<Changeset> =>
  eventually(`changeset ${count}`, async () => {
    const { items } = await client.sessions.listChangesets({ session_id, state: "ready" })
    return items.length >= count ? items[0] : undefined
  })

const openMenu = (page: Page) => page.locator(".session-head").getByText("Session", { exact: true }).click()

describe("a shared session", () => {
  for (const [name, size] of Object.entries({ desk, phone }) as ReadonlyArray<[string, Size]>)
    it(`is read by a stranger with the link until it is taken back, at ${size.width} px`, async () => {
      const { id } = await session(`Shared at ${name}`)
      const page = await world.loggedIn(`sessions/${id}`, size)
      await openMenu(page)
      await picture(page, `session-menu-${name}`)
      await page.getByRole("button", { name: "Share …" }).click()
      const dialog = page.getByRole("dialog", { name: "Share this session" })
      await dialog.getByLabel("Inputs and outputs of tools").check()
      await dialog.getByRole("button", { name: "Make a link" }).click()
      const link = await dialog.locator(".link-text").innerText()
      await dialog.getByText("conversation, changes, tools").waitFor()
      await look(page, `share-dialog-${name}`)

      const reader = await world.newPage(size, { isStranger: true })
      const { complaints } = watch(reader)
      const asked: Array<string> = []
      reader.on("request", (request) => asked.push(request.url()))
      await reader.goto(link)
      await reader.getByRole("heading", { name: `Shared at ${name}` }).waitFor()
      await reader.getByText("The sum is written.", { exact: true }).waitFor()
      await reader.locator(".diff-line.insert", { hasText: "two" }).waitFor()
      await look(reader, `shared-${name}`)
      assert.deepStrictEqual(complaints, [])
      const token = link.split("#")[1] ?? assert.fail(link)
      for (const url of asked) assert.notInclude(url, token)

      await dialog.getByRole("button", { name: "Take back" }).click()
      await dialog
        .getByRole("group", { name: "Take this link back?" })
        .getByRole("button", { name: "Take back" })
        .click()
      await reader.getByRole("heading", { name: "Nothing to see here" }).waitFor()
      assert.strictEqual(await reader.getByText("The sum is written.").count(), 0)
      await look(reader, `shared-ended-${name}`)
      await reader.reload()
      await reader.getByRole("heading", { name: "Nothing to see here" }).waitFor()
    })
})

describe("the menu of a session", () => {
  it("exports the session as a file", async () => {
    const { id } = await session("Kept")
    const page = await world.loggedIn(`sessions/${id}`)
    await openMenu(page)
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export as Markdown" }).click()
    ])
    assert.strictEqual(download.suggestedFilename(), `${id}.md`)
    assert.match(readFileSync(await download.path(), "utf8"), /^# Kept\n[\s\S]*The sum is written\.[\s\S]*\+two\n/)
  })

  it("deletes the session after a question", async () => {
    const { client, id } = await session("Not needed")
    const page = await world.loggedIn(`sessions/${id}`)
    await openMenu(page)
    await page.getByRole("button", { name: "Delete …" }).click()
    const dialog = page.getByRole("dialog", { name: "Delete this session for good?" })
    await dialog.getByText("A receipt stays").waitFor()
    await look(page, "delete-dialog")
    await dialog.getByRole("button", { name: "Delete for good" }).click()
    await page.getByRole("heading", { name: "Inbox" }).waitFor()
    assert.strictEqual((await client.sessions.getDeletion({ session_id: id })).session_id, id)
  })
})

describe("the palette", () => {
  it("finds a message by its words, with a snippet, and leads to its turn", async () => {
    const { id } = await session("Nothing in the title", write("x\n", "The zanzibar question is settled."))
    const page = await world.loggedIn("")
    await page.keyboard.press("Control+k")
    await page.getByLabel("Search pages, sessions and messages").fill("zanzibar")
    const option = page.getByRole("option", { name: /Nothing in the title/ })
    await option.locator(".snippet").waitFor()
    assert.match(await option.innerText(), /zanzibar/)
    await look(page, "palette-message")
    await option.click()
    await page.getByText("The zanzibar question is settled.", { exact: true }).waitFor()
    assert.match(page.url(), new RegExp(`/sessions/${id}#turn_`))
  })
})

describe("a review", () => {
  for (const [name, size] of Object.entries({ desk, phone }) as ReadonlyArray<[string, Size]>)
    it(`shows what has changed since the last changeset, at ${size.width} px`, async () => {
      const { client, id } = await session(`Twice at ${name}`)
      const first = await newest(client, id, 1)
      await client.run({ session_id: id, content: write("one\n2\nthree\n", "Again.") }).final()
      const second = await newest(client, id, 2)
      const page = await world.loggedIn(`sessions/${id}/review/${first.id}`, size)
      await page.getByRole("link", { name: "Review the newest one" }).click()
      await page.waitForURL(new RegExp(second.id))
      await page.locator(".diff-line.insert", { hasText: "three" }).waitFor()
      await page.getByRole("button", { name: "Since the last changeset" }).click()
      await page.locator(".diff-line.delete", { hasText: "two" }).waitFor()
      assert.strictEqual(await page.locator(".diff-line.insert", { hasText: "three" }).count(), 0)
      await look(page, `review-since-${name}`)
      await page.evaluate(() => (document.activeElement instanceof HTMLElement ? document.activeElement.blur() : null))
      await page.keyboard.press("b")
      await page.locator(".diff-line.insert", { hasText: "three" }).waitFor()
    })

  it("applies a suggested change, and tells where the lines have changed", async () => {
    const { client, id } = await session("Suggested")
    const changeset = await newest(client, id, 1)
    const page = await world.loggedIn(`sessions/${id}/review/${changeset.id}`)
    const suggest = async (line: number, text: string) => {
      await page.getByRole("button", { name: `Comment on sum.js, line ${line}` }).click()
      await page.getByRole("button", { name: "Suggest a change" }).click()
      const field = page.getByLabel("Comment", { exact: true })
      assert.match(await field.inputValue(), /^```suggestion\n\w+\n```\n$/)
      await field.fill(`Please:\n\`\`\`suggestion\n${text}\n\`\`\`\n`)
      await page.getByRole("button", { name: "Add comment" }).click()
    }
    await suggest(2, "twofold")
    await page.locator(".suggestion .diff-line.insert", { hasText: "twofold" }).waitFor()
    await look(page, "suggestion")
    await page.locator(".suggestion").getByRole("button", { name: "Apply" }).click()
    await page.getByText("There is a newer changeset of this session.").waitFor()
    const { content } = await client.sessions.getFile({ session_id: id, path: "sum.js" })
    assert.strictEqual(content, "one\ntwofold\nthree\n")

    await suggest(2, "doubled")
    await page.locator(".suggestion").getByRole("button", { name: "Apply" }).click()
    await page.getByText("These lines have changed in the working tree since.").first().waitFor()
    assert.strictEqual((await client.sessions.getFile({ session_id: id, path: "sum.js" })).content, content)
  })
})
