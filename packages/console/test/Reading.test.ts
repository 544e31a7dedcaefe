import { picture, watch } from "@reins/testing/browser/Browser"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, type Size, worldForFile } from "./World.js"

const world = worldForFile()

const markdown = `# The plan

Two *things* with **weight**, \`code\` and a [link](https://example.com/a).

- [x] look
- [ ] write

| File | Lines |
|---|--:|
| \`a.ts\` | 12 |

> Mind the gap.

\`\`\`ts
const answer: number = 42 // the answer
\`\`\`

<b onclick="alert(1)">not bold</b> and [no script](javascript:alert(1))
`

const colours = "printf '\\033[31mred words\\033[0m plain\\n'"

/** A session whose agent has said and done all sorts of things. */
const session = async (message: string, title: string, given: object = {}) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { workspaceId: workspace_id } = caller
  const repository = { url: world.forge.url }
  const made = await client.sessions.create({ workspace_id, harness, title, repository, message, ...given })
  return { client, id: made.id }
}

const isInside = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)

describe("a session for readers", () => {
  for (const [name, size] of Object.entries({ desk, phone }) as ReadonlyArray<[string, Size]>)
    it(`shows Markdown, tools in a line and their output in colours, at ${size.width} px`, async () => {
      const { client, id } = await session(
        script(
          "Work on it.",
          { think: "First a *look*.", tool: "bash", cmd: colours },
          { tool: "write", path: "src/a.ts", content: "export const a = 1\n" },
          { tool: "bash", cmd: "ls src" },
          { say: markdown }
        ),
        "Read me"
      )
      const page = await world.loggedIn(`sessions/${id}`, size)
      const { complaints } = watch(page)
      const answer = page.locator(".answer")
      await answer.getByRole("heading", { name: "The plan" }).waitFor()
      await answer.getByRole("table").getByText("a.ts").waitFor()
      assert.strictEqual(await answer.getByRole("link").count(), 1)
      assert.strictEqual(await answer.getByRole("link").getAttribute("rel"), "noreferrer noopener")
      assert.strictEqual(await answer.locator("b, script, [onclick]").count(), 0)
      await answer.locator(".hl-keyword", { hasText: "const" }).waitFor()
      await answer.locator(".code-block").getByRole("button", { name: "Copy" }).waitFor()

      const run = page.getByRole("button", { name: /Worked for \d+ s, 3 steps/ })
      await picture(page, `reading-${name}`)
      // The run folds when its turn has ended, a moment after the last words. The list holds the rows in sight alone.
      await client.turns.wait({ turn_id: (await client.turns.list({ session_id: id })).items[0]?.id ?? "" })
      await page.getByRole("region", { name: "Conversation" }).evaluate((list) => list.scrollTo({ top: 0 }))
      await run.waitFor()
      assert.strictEqual(await page.locator(".tool").count(), 0)
      await run.click()
      await page.locator("summary", { hasText: "printf" }).click()
      await page.locator(".ansi-red", { hasText: "red words" }).waitFor()
      assert.notInclude(await page.locator(".output").first().innerText(), "[31m")
      await page.locator("summary", { hasText: "src/a.ts" }).click()
      await page.getByRole("figure", { name: "Change of src/a.ts" }).getByText("export").first().waitFor()
      await picture(page, `reading-tools-${name}`)
      assert.isTrue(await isInside(page))
      assert.deepStrictEqual(complaints, [])
    })

  it("shows what a running command prints, and asks in the words of the thing", async () => {
    const wait = "echo halfway; until test -e go; do read -t 0.1 < <(:); done"
    const { client, id } = await session(script("Run.", { tool: "bash", cmd: wait }, { say: "Ran." }), "Ask me", {
      permissions: { default: "ask" }
    })
    const page = await world.loggedIn(`sessions/${id}`)
    const question = page.getByRole("region", { name: "bash" })
    await question.getByText("OpenCode wants to run this command:").waitFor()
    await question.getByText(wait, { exact: true }).waitFor()
    await question.getByText(/Rejected automatically in \d/).waitFor()
    await page.waitForFunction(() => document.title.startsWith("(1) "))
    assert.match((await page.locator("link[rel=icon]").getAttribute("href")) ?? "", /icon-asking/)
    await picture(page, "reading-asks")
    // Only offer what the agent can do.
    const offered = await page.getByLabel("When").locator("option").allInnerTexts()
    assert.deepStrictEqual(offered, ["After this turn", "With my next message"])
    await page.getByLabel("Message", { exact: true }).fill("And then this.")
    await page.getByRole("button", { name: "Send" }).click()
    const waiting = page.getByRole("region", { name: "Queue" })
    await waiting.getByText("And then this.").waitFor()
    await waiting.getByRole("button", { name: "Edit" }).click()
    await waiting.waitFor({ state: "detached" })
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "And then this.")
    await page.getByLabel("Message", { exact: true }).fill("")
    await question.getByRole("button", { name: "Allow once" }).click()
    await client.sessions.uploadFile({ session_id: id, path: "go", content: "" })
    await page.getByText("Ran.", { exact: true }).waitFor()
  })

  it("has a head for people, a title that is renamed there, and links to a turn and to a line of a file", async () => {
    const { client, id } = await session(
      script("Write.", { tool: "write", path: "src/b.ts", content: "one\ntwo\nthree\n" }, { say: "Written." }),
      "Old title"
    )
    const page = await world.loggedIn(`sessions/${id}`)
    await page.getByText("Written.", { exact: true }).waitFor()
    const head = page.locator(".session-head")
    await head.getByText("OpenCode · scripted-1").waitFor()
    await head.getByRole("link", { name: "acme/shop" }).waitFor()
    assert.notInclude(await head.innerText(), id)
    await head.getByText("About").click()
    await head.getByText(id).waitFor()
    await picture(page, "session-about")
    await head.getByText("Session", { exact: true }).click()
    await page.getByRole("button", { name: "Rename" }).click()
    await page.getByLabel("Title").fill("New title")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "New title" }).waitFor()
    assert.strictEqual((await client.sessions.get({ session_id: id })).title, "New title")
    assert.match((await page.getByRole("link", { name: "Turn 1" }).getAttribute("href")) ?? "", /#turn_/)
    await page.goto(`${world.server.url}/ui/sessions/${id}/files#src/b.ts:2`)
    await page.locator(".line.wanted", { hasText: "two" }).waitFor()
    await picture(page, "file-line")
  })

  it("is found by Ctrl+K, and keys lead through the inbox", async () => {
    const { id } = await session(script("Look.", { say: "Looked." }), "A needle in the hay")
    const page = await world.loggedIn("")
    await page.getByText("A needle in the hay").first().waitFor()
    await page.keyboard.press("Control+k")
    await page.getByLabel("Search pages, sessions and messages").fill("needle")
    await page.getByRole("option", { name: /A needle in the hay/ }).waitFor()
    await picture(page, "palette")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "A needle in the hay" }).waitFor()
    assert.include(page.url(), id)
    await page.evaluate(() => (document.activeElement instanceof HTMLElement ? document.activeElement.blur() : null))
    await page.keyboard.press("g")
    await page.keyboard.press("i")
    await page.getByRole("heading", { name: "Inbox" }).waitFor()
    await page.locator("a.session-row").first().waitFor()
    await page.keyboard.press("j")
    await page.locator("a.session-row:focus").waitFor()
    await page.keyboard.press("?")
    await page.getByRole("dialog", { name: "Keys" }).getByText("New session").waitFor()
    await picture(page, "keys")
    await page.keyboard.press("Escape")
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" })
    await page.keyboard.press("c")
    await page.getByRole("heading", { name: "New session" }).waitFor()
  })
})
