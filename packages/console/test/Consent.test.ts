import { createHash, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { picture, watch } from "@reins/testing/browser/Browser"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { desk, owner, phone, worldForFile } from "./World.js"

const world = worldForFile()

const called: Array<URLSearchParams> = []
/** The program of an app, which hears the answer, and leads the browser on to another host. */
const program = createServer((request, response) => {
  const url = new URL(request.url ?? "", "http://localhost")
  if (url.pathname !== "/callback") return void response.end("Back in the app.")
  called.push(url.searchParams)
  response.writeHead(302, { location: `http://localhost:${portOf()}/done` }).end()
})
const portOf = (): number => (program.address() as AddressInfo).port
beforeAll(() => new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve)))
afterAll(() => {
  program.close()
  program.closeAllConnections()
})

const post = async (path: string, body: URLSearchParams | object) => {
  const isForm = body instanceof URLSearchParams
  const answer = await fetch(`${world.server.url}${path}`, {
    method: "POST",
    body: isForm ? body : JSON.stringify(body),
    ...(!isForm && { headers: { "content-type": "application/json" } })
  })
  return { status: answer.status, json: await answer.json() }
}

describe("the page on which a person lets an app in", () => {
  it("asks for the login, says who asks for what, and sends the browser back; the account page ends it", async () => {
    await world.caller()
    const redirect_uri = `http://127.0.0.1:${portOf()}/callback`
    const { json: registered } = await post("/oauth/register", {
      client_name: "Desk assistant",
      redirect_uris: ["http://127.0.0.1/callback"]
    })
    const verifier = randomBytes(32).toString("base64url")
    const query = new URLSearchParams({
      response_type: "code",
      client_id: registered.client_id,
      redirect_uri,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: "a state",
      scope: "read act write"
    })
    const page = await world.newPage()
    const { complaints } = watch(page)
    await page.goto(`${world.server.url}/oauth/authorize?${query}`)
    await picture(page, "consent-login-1280")
    await page.getByLabel("E-mail address").fill(owner.email)
    await page.getByLabel("Password").fill("not the password")
    await page.getByRole("button", { name: "Log in" }).click()
    await page.getByRole("alert").waitFor()
    await page.getByLabel("E-mail address").fill(owner.email)
    await page.getByLabel("Password").fill(owner.password)
    await page.getByRole("button", { name: "Log in" }).click()
    await page.getByRole("heading", { name: "Give an app access?" }).waitFor()
    const words = await page.locator("main").innerText()
    assert.include(words, "An app that calls itself Desk assistant asks for access to Reins. Nothing proves its name.")
    assert.include(words, "a program on your own machine")
    assert.include(words, owner.email)
    assert.isTrue(await page.getByLabel(/Look, and have agents work/).isChecked())
    assert.isFalse(await page.getByLabel(/Without asking me/).isChecked())
    for (const size of [desk, phone]) {
      await page.setViewportSize(size)
      assert.deepStrictEqual(await findingsOf(page), [])
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      assert.isAtMost(wide, 0)
      await picture(page, `consent-${size.width}`, true)
    }
    await page.setViewportSize(desk)
    await page.getByLabel("For").selectOption("7")
    await page.getByRole("button", { name: "Allow" }).click()
    await page.getByText("Back in the app.").waitFor()
    const [answer] = called
    assert.strictEqual(answer?.get("state"), "a state")
    const tokens = await post(
      "/oauth/token",
      new URLSearchParams({
        grant_type: "authorization_code",
        client_id: registered.client_id,
        code: answer?.get("code") ?? "",
        redirect_uri,
        code_verifier: verifier
      })
    )
    assert.deepInclude(tokens.json, { scope: "read act", token_type: "Bearer" })
    await page.goto(`${world.server.url}/ui/account`)
    const row = page.getByRole("listitem").filter({ hasText: "Desk assistant" })
    await row.getByText(/has agents work · Personal · never used · expires/).waitFor()
    for (const size of [desk, phone]) {
      await page.setViewportSize(size)
      assert.deepStrictEqual(await findingsOf(page), [])
      await picture(page, `account-apps-${size.width}`, true)
    }
    await row.getByRole("button", { name: "End access" }).click()
    await page.getByRole("button", { name: "End access" }).last().click()
    await page.getByText("No app has access.").waitFor()
    const refresh = new URLSearchParams({
      grant_type: "refresh_token",
      client_id: registered.client_id,
      refresh_token: tokens.json.refresh_token
    })
    assert.strictEqual((await post("/oauth/token", refresh)).json.error, "invalid_grant")
    // A wrong password is answered with 422, which the browser tells of.
    assert.isEmpty(complaints.filter((text) => !/422|favicon/.test(text)))
  })

  it("sends the browser nowhere when the request is not as it should be, and is shown in no frame", async () => {
    const page = await world.loggedIn()
    await page.goto(`${world.server.url}/oauth/authorize?client_id=x&redirect_uri=https://evil.example/`)
    await page.getByRole("alert").waitFor()
    await picture(page, "consent-stopped-1280")
    assert.strictEqual(new URL(page.url()).origin, world.server.url)
    const framing = await world.newPage()
    await framing.goto(`http://127.0.0.1:${portOf()}/`)
    const frame = await framing.evaluate(async (address) => {
      const made = document.createElement("iframe")
      made.src = address
      const loaded = new Promise((resolve) => made.addEventListener("load", resolve))
      document.body.append(made)
      await loaded
      try {
        return made.contentDocument?.body.innerText ?? "out of reach"
      } catch {
        return "out of reach"
      }
    }, `${world.server.url}/oauth/authorize?client_id=x`)
    assert.notInclude(frame, "app")
    assert.isUndefined(framing.frames().find((each) => each.url().includes("/oauth/authorize")))
  })
})
