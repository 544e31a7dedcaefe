import { Reins } from "@reins/client"
import { type Browser, picture, startBrowser, watch } from "@reins/testing/browser/Browser"
import { newKey, password } from "@reins/testing/process/Caller"
import { linkFor } from "@reins/testing/process/Outbox"
import { inMemory, placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import type { Page } from "playwright-core"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

const place = placeForEachTest(inMemory)
let server: ServerProcess
let browser: Browser

beforeEach(async () => {
  server = await startServer({ dataDir: place.dataDir })
})
afterEach(() => browser.close())

describe("/docs in a browser", () => {
  it("lists every operation, finds one, asks nobody but its server, breaks no policy, and tries out an operation with a key", async () => {
    const apiKey = newKey(place.dataDir)
    browser = await startBrowser()
    const page = await browser.context.newPage()
    await page.setViewportSize({ width: 1280, height: 900 })
    const { complaints, requests } = watch(page)
    await page.goto(`${server.url}/docs`)
    const archive = page.getByText("Archive a session").first()
    await archive.waitFor()
    await picture(page, "docs")

    const described = operationsOf(await (await fetch(`${server.url}/openapi.json`)).json())
    assert.isAbove(described.length, 58)
    // Long words are broken by spaces that nobody sees.
    const text = (await page.locator("body").innerText()).replaceAll("\u200b", "")
    assert.deepStrictEqual(
      described.filter((summary) => !text.includes(summary)),
      []
    )

    await page.keyboard.press("Control+k")
    await page.keyboard.type("archive")
    await page.getByRole("option", { name: "/api/sessions/{session_id}/archives" }).first().waitFor()
    await picture(page, "docs-search")
    await page.keyboard.press("Escape")

    await page.locator("input[placeholder='Token']").first().fill(apiKey)
    await picture(page, "docs-authorize")
    await page.goto(`${server.url}/docs#tag/accounts/GET/api/me`)
    await page
      .getByRole("button", { name: /Test Request.*\/api\/me\)?$/ })
      .first()
      .click()
    await page
      .getByRole("button", { name: /^Send\s*(?:get|$)/i })
      .last()
      .click()
    await page.getByText("owner@example.com").first().waitFor()
    await picture(page, "docs-try")

    const origins = new Set(requests.filter((url) => !url.startsWith("data:")).map((url) => new URL(url).origin))
    assert.deepStrictEqual([...origins], [server.url])
    assert.include(requests, `${server.url}/api/me`)
    assert.deepStrictEqual(complaints, [])
  })
})

/** The summary of each operation. */
const operationsOf = (document: unknown): ReadonlyArray<string> => {
  if (typeof document !== "object" || document === null || !("paths" in document)) throw new Error("no document")
  return Object.values(Object(document.paths)).flatMap((item) =>
    Object.values(Object(item)).map((operation) => String(Object(operation).summary))
  )
}

describe("the pages of mails in a browser without JavaScript", () => {
  const email = "reader@example.com"

  /** Presses the one button of a page and waits for the page that follows. */
  const submit = async (page: Page, button: string) => {
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: button }).click()])
  }

  const logIn = (given: string) =>
    new Reins({ baseUrl: server.url }).accounts.login({ email, password: given }).then(
      () => "logged in",
      (error: unknown) => Object(error).code
    )

  const heading = (page: Page) => page.getByRole("heading", { level: 1 }).innerText()

  for (const dark of [false, true]) {
    it(`verify an address and set a new password, ${dark ? "dark" : "light"}`, async () => {
      const look = dark ? "dark" : "light"
      browser = await startBrowser({ javaScript: false, dark })
      const page = await browser.context.newPage()
      await page.setViewportSize({ width: 480, height: 640 })
      const { complaints, requests } = watch(page)
      await new Reins({ baseUrl: server.url }).accounts.register({ email, password })
      assert.strictEqual(await logIn(password), "email_unverified")

      await page.goto(await linkFor(place.dataDir, email, "verify"))
      assert.strictEqual(await heading(page), "Verify your e-mail address")
      await picture(page, `verify-${look}`)
      await submit(page, "Verify my address")
      assert.strictEqual(await heading(page), "Your address is verified")
      await picture(page, `verified-${look}`)
      assert.strictEqual(await logIn(password), "logged in")

      await page.goto(`${server.url}/reset`)
      await page.getByLabel("E-mail address").fill(email)
      await picture(page, `reset-ask-${look}`)
      await submit(page, "Send a link")
      assert.strictEqual(await heading(page), "Look into your mail")
      await page.goto(await linkFor(place.dataDir, email, "reset"))
      assert.strictEqual(await heading(page), "Choose a new password")
      const next = "the otter sleeps on its back"
      await page.getByLabel("New password").fill(next)
      await page.getByLabel("The same again").fill("another one")
      await picture(page, `reset-choose-${look}`)
      await submit(page, "Set the password")
      assert.include(await page.getByRole("alert").innerText(), "differ")
      await picture(page, `reset-differ-${look}`)
      await page.getByLabel("New password").fill(next)
      await page.getByLabel("The same again").fill(next)
      await submit(page, "Set the password")
      assert.strictEqual(await heading(page), "Your password is set")
      await picture(page, `reset-done-${look}`)
      assert.strictEqual(await logIn(password), "invalid_credentials")
      assert.strictEqual(await logIn(next), "logged in")

      const origins = new Set(requests.map((url) => new URL(url).origin))
      assert.deepStrictEqual([...origins], [server.url])
      // Only that the form was refused with 422, as it should have been.
      assert.strictEqual(complaints.length, 1, complaints.join("\n"))
      assert.include(complaints[0], "422")
    })
  }
})
