import { picture } from "@reins/testing/browser/Browser"
import { newBrowser, newPushService } from "@reins/testing/push/PushService"
import { Effect, Exit, Scope } from "effect"
import type { CDPSession, Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()
let scope: Scope.CloseableScope
beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Lets the page subscribe at a push service of the test. The one of Chromium's maker is out of reach. */
const subscribesAt = (page: Page, subscription: { readonly endpoint: string; readonly keys: object }) =>
  page.addInitScript((given) => {
    PushManager.prototype.getSubscription = async () => null
    PushManager.prototype.subscribe = async () =>
      ({ endpoint: given.endpoint, toJSON: () => given }) as unknown as PushSubscription
  }, subscription)

/** The number under which the browser knows the worker of the pages. */
const registrationOf = (browser: CDPSession): Promise<string> =>
  new Promise((resolve) => {
    browser.on("ServiceWorker.workerVersionUpdated", ({ versions }) => {
      const active = versions.find(({ status }) => status === "activated")
      if (active !== undefined) resolve(active.registrationId)
    })
    void browser.send("ServiceWorker.enable")
  })

/** The notices that the browser shows. */
const shown = (page: Page) =>
  page.evaluate(async () => {
    const notices = await (await navigator.serviceWorker.ready).getNotifications()
    return notices.map(({ body, tag, title }) => ({ body, tag, title }))
  })

describe("a browser that is told while no page is open", () => {
  it("is told when an agent asks, until the person ends it", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const service = await Effect.runPromise(Scope.extend(newPushService, scope))
    const { keys, read } = newBrowser()
    await world.context.grantPermissions(["notifications"], { origin: world.server.url })
    const page = await world.loggedIn()
    await subscribesAt(page, { endpoint: `${service.origin}/send/a-secret-path`, keys })
    await page.goto(`${world.server.url}/ui/account`)
    const toggle = page.getByLabel(/Also while no page is open/)
    const told = async () => (await client.push.listSubscriptions({ workspace_id: caller.workspaceId })).items
    const becomes = (state: "checked" | "not(:checked)") => toggle.and(page.locator(`:enabled:${state}`)).waitFor()
    const turn = async (state: "checked" | "not(:checked)") => {
      await toggle.click()
      await becomes(state)
    }
    await turn("checked")
    assert.deepStrictEqual(
      (await told()).map(({ host }) => host),
      [new URL(service.origin).host]
    )

    const session = await client.sessions.create({
      workspace_id: caller.workspaceId,
      harness,
      title: "Clean the house",
      permissions: { default: "ask" },
      message: script("Clean.", { tool: "bash", cmd: "echo cleaned" }, { say: "All is clean." })
    })
    await Effect.runPromise(service.until(1))
    const [notice] = service.arrived
    if (notice === undefined) return assert.fail("nothing came")

    const browser = await world.context.newCDPSession(page)
    const registrationId = await registrationOf(browser)
    const data = JSON.stringify(read(notice.body))
    const deliver = () =>
      browser.send("ServiceWorker.deliverPushMessage", { origin: world.server.url, registrationId, data })
    // A page that is looked at shows it already, so this one goes behind another. Playwright lets each page believe that it is looked at.
    await browser.send("Emulation.setFocusEmulationEnabled", { enabled: false })
    const other = await world.context.newPage()
    await other.bringToFront()
    let notices = await shown(page)
    // The worker hears a little later that nobody looks at the page. Notices of one session replace each other.
    while (notices.length === 0) {
      await deliver()
      notices = await shown(page)
    }
    assert.deepStrictEqual(notices, [
      { title: "Clean the house", body: "Asks to run a command. Open it to see all of it.", tag: session.id }
    ])

    await page.bringToFront()
    // The server is out of reach, so it goes on telling this browser, and the switch says so.
    await page.route("**/api/push-subscriptions/**", (route) => route.abort())
    await toggle.click()
    await page.getByRole("alert").waitFor()
    await becomes("checked")
    for (const [at, size] of Object.entries({ desk, phone })) {
      await page.setViewportSize(size)
      await page.getByRole("alert").scrollIntoViewIfNeeded()
      await picture(page, `push-unreached-${at}`)
    }
    await page.unroute("**/api/push-subscriptions/**")
    await turn("not(:checked)")
    assert.deepStrictEqual(await told(), [])

    await turn("checked")
    const [again] = await told()
    await client.push.removeSubscription({ push_subscription_id: again?.id ?? "" })
    await turn("not(:checked)")
    await turn("checked")
    // The person may have removed the browser elsewhere.
    const [third] = await told()
    await client.push.removeSubscription({ push_subscription_id: third?.id ?? "" })
    await page.reload()
    await becomes("not(:checked)")
  })
})
