import { type Browser, type BrowserOptions, startBrowser, watch } from "@reins/testing/browser/Browser"
import { newCaller, password } from "@reins/testing/process/Caller"
import { inMemory, placeForFile } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import type { Page } from "playwright-core"
import { afterEach, assert, beforeAll, describe, it } from "vitest"
import { logIn, owner } from "./World.js"

const place = placeForFile(inMemory)
let server: ServerProcess
let browser: Browser | undefined

beforeAll(async () => {
  server = await startServer({ dataDir: place.dataDir })
  await newCaller(server, place.dataDir)
})
afterEach(() => browser?.close())

const open = async (options: BrowserOptions, url: string): Promise<Page> => {
  browser = await startBrowser(options)
  const page = await browser.context.newPage()
  await page.goto(`${url}/ui`)
  return page
}

const urlAt = (name: string): string => `http://${name}:${new URL(server.url).port}`

/** Fills the form in, whatever comes of it. */
const tryToLogIn = async (page: Page) => {
  await page.getByLabel("E-mail address").fill(owner.email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Log in" }).click()
}

describe("the page works where people open it", () => {
  it("over plain http at a name of the network, which is no secure context", async () => {
    const page = await open({ name: "reins.lan" }, urlAt("reins.lan"))
    const { complaints } = watch(page)
    assert.isFalse(await page.evaluate(() => isSecureContext))
    await logIn(page)
    await page.getByRole("link", { name: "API keys" }).click()
    await page.getByRole("button", { name: "New key" }).click()
    await page.getByLabel("Name").fill("laptop")
    await page.getByRole("button", { name: "Create the key" }).click()
    await page
      .getByText(/rk_\w+/)
      .first()
      .waitFor()
    assert.deepStrictEqual(complaints, [])
  })

  it("and says at once that a login cannot be kept where cookies are refused", async () => {
    const page = await open({ refusesCookies: true }, server.url)
    await tryToLogIn(page)
    const words = await page.getByRole("alert").innerText()
    assert.include(words, "did not keep the cookie of the login")
    assert.include(words, new URL(server.url).host)
  })

  it("and names the address where the server has logins over https alone", async () => {
    const https = await startServer({
      dataDir: `${place.dataDir}-https`,
      env: { REINS_PUBLIC_URL: "https://reins.example.com" }
    })
    await newCaller(https, `${place.dataDir}-https`)
    const page = await open({ name: "reins.lan" }, `http://reins.lan:${new URL(https.url).port}`)
    await tryToLogIn(page)
    const words = await page.getByRole("alert").innerText()
    assert.include(words, "REINS_PUBLIC_URL")
    assert.include(words, "https://")
  })
})
