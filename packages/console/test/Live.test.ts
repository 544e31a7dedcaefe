import { execFileSync } from "node:child_process"
import { picture, watch } from "@reins/testing/browser/Browser"
import { newKey, password } from "@reins/testing/process/Caller"
import { proxyBelow } from "@reins/testing/process/PathProxy"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, logIn, owner, phone, worldForFile } from "./World.js"

const world = worldForFile()

describe("the console, live", () => {
  it("asks on every page what an agent asks, and a phone answers it with a tap and a note", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const page = await world.newPage(phone, { hasTouch: true })
    await page.goto(`${world.server.url}/ui/keys`)
    await logIn(page)
    const session = await client.sessions.create({
      workspace_id: caller.workspaceId,
      harness,
      permissions: { default: "ask" },
      message: script("Clean.", { tool: "bash", cmd: "echo cleaned" }, { say: "All is clean." })
    })
    await page.getByRole("button", { name: /An agent waits for you/ }).tap()
    const question = page.getByRole("complementary", { name: "Waiting for your answer" })
    await question.getByText("echo cleaned").waitFor()
    await question.getByText(/Rejected automatically in 9:\d\d/).waitFor()
    await question.getByRole("button", { name: "Add a note" }).tap()
    await question.getByLabel("Note to the agent").fill("Mind the cache.")
    await picture(page, "approval-phone")
    await question.getByRole("button", { name: "Allow once" }).tap()
    await question.waitFor({ state: "detached" })
    await page.goto(`${world.server.url}/ui/sessions/${session.id}`)
    await page.getByText("All is clean.", { exact: true }).first().waitFor()
    const [answered] = (await client.interactions.list({ session_id: session.id })).items
    assert.deepStrictEqual([answered?.answer, answered?.note, answered?.state], ["once", "Mind the cache.", "answered"])
  })

  it("follows eight sessions in eight tabs over HTTP/1.1", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const first = await world.loggedIn()
    const pages = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const session_id = await caller.newSession(client)
        const page = await first.context().newPage()
        await page.goto(`${world.server.url}/ui/sessions/${session_id}`)
        await page.getByText("There is no message yet.").waitFor()
        return { page, session_id }
      })
    )
    await Promise.all(
      pages.map(({ session_id }, at) =>
        client.messages.send({ session_id, content: script("Say.", { say: `Number ${at}.` }) })
      )
    )
    await Promise.all(pages.map(({ page }, at) => page.getByText(`Number ${at}.`, { exact: true }).waitFor()))
    await first.getByText("succeeded").nth(7).waitFor()
  })

  it("filters the inbox by project and label, and gives an event as the command that reads it", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { workspaceId: workspace_id } = caller
    const { id: project_id } = await client.projects.create({
      workspace_id,
      slug: "shop",
      name: "Shop",
      spec: { harness }
    })
    const create = (title: string, more: object) => client.sessions.create({ workspace_id, harness, title, ...more })
    const shop = await create("Mend the shop", { project_id })
    await create("Write the letter", { labels: { team: "letters" } })
    const page = await world.loggedIn()
    const [shown, other] = [page.getByRole("link", { name: "Mend the shop" }), page.getByText("Write the letter")]
    await page.getByLabel("Project").selectOption("Shop")
    await shown.waitFor()
    await other.waitFor({ state: "detached" })
    await page.getByLabel("Label").selectOption("team=letters")
    await page.getByText("No session has this project and label.").waitFor()
    await page.getByLabel("Project").selectOption("")
    await other.waitFor()
    await page.getByLabel("Label").selectOption("")
    await shown.click()

    await page.getByRole("link", { name: "Events" }).click()
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
    await page.getByRole("button", { name: /session\.created/ }).click()
    await page.getByRole("button", { name: "Copy as curl" }).last().click()
    const command = await page.evaluate(() => navigator.clipboard.readText())
    const env = { PATH: process.env["PATH"], REINS_API_KEY: caller.apiKey }
    const [event] = JSON.parse(execFileSync("bash", ["-c", command], { env, encoding: "utf8" })).items
    assert.deepInclude(event, { seq: 1, type: "session.created", session_id: shop.id })
  })

  it("shows nothing of one account to another that logs in afterwards", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { id } = await client.sessions.create({ workspace_id: caller.workspaceId, harness, title: "A secret plan" })
    newKey(world.place.dataDir, world.env, "other@example.com")
    const page = await world.loggedIn(`sessions/${id}`)
    await page.getByRole("heading", { name: "A secret plan" }).waitFor()
    await page.getByRole("button", { name: "Log out" }).click()
    await logIn(page, { email: "other@example.com", password })
    await page.getByRole("alert").first().getByText("This does not exist, or you may not see it.").waitFor()
    await page.getByRole("link", { name: "Inbox" }).click()
    await page.getByText("There is no session yet.").waitFor()
    assert.notInclude(await page.locator("body").innerText(), "A secret plan")
    await page.getByRole("button", { name: "Log out" }).click()
    await logIn(page, owner)
    await page.getByText("A secret plan").waitFor()
  })

  it("works below a path of a proxy, from a deep link on", async () => {
    const caller = await world.caller()
    const session = await caller.newSession(caller.at(world.server))
    const proxy = await proxyBelow("/tools/reins")
    proxy.lead(Number(new URL(world.server.url).port))
    try {
      const page = await world.newPage(desk, { isStranger: true })
      const { complaints, requests } = watch(page)
      await page.goto(`${proxy.url}/ui/sessions/${session}/events`)
      await logIn(page)
      await page.getByText("session.created").waitFor()
      await page.getByRole("link", { name: "Inbox" }).click()
      await page.getByRole("link", { name: session }).click()
      await page.getByLabel("Message").fill(script("Say.", { say: "Below a path." }))
      await page.getByRole("button", { name: "Send" }).click()
      await page.getByText("Below a path.", { exact: true }).waitFor()
      assert.deepStrictEqual(
        requests.filter((url) => !url.startsWith(`${proxy.url}/`)),
        []
      )
      assert.deepStrictEqual(complaints, [])
      const kept = await page.evaluate(() => Object.keys(localStorage))
      assert.include(kept, "/tools/reins/ reins.theme")
      assert.deepStrictEqual(
        kept.filter((name) => !name.startsWith("/tools/reins/ ")),
        []
      )
      await page.goto(`${proxy.url}/`)
      assert.strictEqual(page.url(), `${proxy.url}/ui`)
    } finally {
      proxy.close()
    }
  })
})
