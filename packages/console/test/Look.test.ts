import { picture, watch } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, phone, worldForEachTest } from "./World.js"

const world = worldForEachTest()

describe("look", () => {
  it("shows", async () => {
    const caller = await world.newCaller()
    const client = caller.at(world.server)
    const content = script(
      "Make the failing test pass.",
      { think: "First the test, then the code it tests.", tool: "bash", cmd: "ls -la && cat a.txt" },
      {
        say: "The test expects `600` and gets 350.",
        tool: "write",
        path: "src/cart.js",
        content: "export const total = (items) => items.reduce((sum, item) => sum + item.price * item.quantity, 0)\n"
      },
      { tool: "write", path: "a.txt", content: "one and a half\nmore\n" },
      { say: "total() now multiplies each price by its quantity, and the test passes." }
    )
    const session = await client.sessions.create({
      workspace_id: caller.workspaceId,
      title: "Make the failing test pass",
      labels: { team: "web" },
      harness: { provider_id: "alpha", model: "scripted-1" },
      repository: { url: world.forge.url },
      message: content
    })
    const asking = await client.sessions.create({
      workspace_id: caller.workspaceId,
      title: "Clean the build folder",
      harness: { provider_id: "alpha", model: "scripted-1" },
      permissions: { default: "ask" },
      message: script("Clean.", { tool: "bash", cmd: "rm -rf build" }, { say: "Done." })
    })
    await client.sessions.create({
      workspace_id: caller.workspaceId,
      title: "Gateway says no",
      harness: { provider_id: "alpha", model: "scripted-1" },
      message: script("Fail.", { error: 401, message: "the key is not good" })
    })
    for await (const event of client.sessions.stream({ session_id: session.id }))
      if (event.type === "changeset.ready") break
    for await (const event of client.sessions.stream({ session_id: asking.id }))
      if (event.type === "turn.action_required" || event.type === "turn.failed") break
    const page = await world.context.newPage()
    const { complaints, requests } = watch(page)
    await page.setViewportSize(desk)
    await page.goto(`${world.server.url}/ui/sessions/${session.id}/changes`)
    page.setDefaultTimeout(6000)
    await page
      .getByRole("button", { name: "Log in" })
      .waitFor()
      .catch(async (e) => {
        console.log(complaints, requests, await page.content())
        throw e
      })
    await picture(page, "login")
    await page.getByLabel("E-mail address").fill("owner@example.com")
    await page.getByLabel("Password").fill("correct horse battery staple")
    await page.getByRole("button", { name: "Log in" }).click()
    await page
      .getByRole("heading", { name: "Changesets" })
      .waitFor({ timeout: 10_000 })
      .catch(async (e) => {
        await picture(page, "broken")
        console.log(complaints, await page.content())
        throw e
      })
    await page.waitForTimeout(1500)
    await picture(page, "changes")
    for (const size of [desk, phone]) {
      const name = size === desk ? "desk" : "phone"
      await page.setViewportSize(size)
      for (const [what, path] of Object.entries({
        inbox: "",
        session: `/sessions/${session.id}`,
        events: `/sessions/${session.id}/events`,
        files: `/sessions/${session.id}/files`,
        usage: `/sessions/${session.id}/usage`,
        asking: `/sessions/${asking.id}`,
        start: "/start",
        new: "/new",
        connections: "/connections",
        keys: "/keys",
        members: "/members",
        server: "/server",
        projects: "/projects"
      })) {
        await page.goto(`${world.server.url}/ui${path}`)
        await page.waitForTimeout(1200)
        await picture(page, `${name}-${what}`)
      }
      await page.goto(`${world.server.url}/ui/sessions/${session.id}`)
      await page.getByRole("link", { name: "Review" }).click()
      await page.waitForTimeout(1500)
      await picture(page, `${name}-review`)
    }
    console.log(complaints, [...new Set(requests.map((url) => new URL(url).origin))])
    assert.deepStrictEqual(complaints, [])
  })
})
