import { picture, watch } from "@reins/testing/browser/Browser"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, beforeAll, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { desk, harness, logIn, phone, worldForFile } from "./World.js"

// The questions stay open while all pages are looked at, which takes a slow machine longer than the ten minutes of an answer.
const world = worldForFile("small", { REINS_INTERACTION_MINUTES: "120" })

/** The words that each page shows once it is there. */
const pages = {
  "": "Needs you",
  new: "Start the session",
  start: "The first session",
  connections: "alpha_gateway",
  projects: "Shop",
  members: "owner@example.com",
  automations: "It has not run yet.",
  webhooks: "hooks.example",
  keys: "rk_",
  usage: "OpenCode · scripted-1",
  settings: "Name of the workspace",
  server: "requests per minute",
  account: "Change the password",
  nowhere: "There is no such page"
} as const

/** A dialog of a page: the button that opens it, and the words that it shows. */
const dialogs = {
  automations: ["New automation", "The next times"],
  connections: ["New connection", "Base URL"],
  webhooks: ["New endpoint", "Address"],
  keys: ["New key", "Workspaces"],
  usage: ["Set a budget", "Tokens in all"],
  projects: ["New project", "Slug"]
} as const

/** Makes sessions of several standings, a project with a version, and an endpoint. Gives the paths of their pages with words of each. */
const furnish = async (): Promise<Readonly<Record<string, string>>> => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { workspaceId: workspace_id } = caller
  const given = { workspace_id, harness }
  const { items: connections } = await client.connections.list({ workspace_id })
  for (const { id, kind } of connections)
    if (kind === "alpha_gateway")
      await client.connections.update({ connection_id: id, prices: { "*": { input: 2, output: 8 } } })
  const done = await client.sessions.create({
    ...given,
    title: "Write the sum",
    labels: { team: "web" },
    budget: { max_tokens: 100_000, max_cost_usd: 2.5 },
    repository: { url: world.forge.url },
    message: script(
      "Write the sum in `src/sum.js`.",
      { think: "First a look at what is there.", tool: "bash", cmd: "ls -la" },
      {
        say: "There is nothing yet, so I write it.",
        tool: "write",
        path: "src/sum.js",
        content: "export const sum = (a, b) => a + b\n"
      },
      { tool: "write", path: "a.txt", content: "one and a half\nmore\n" },
      { say: "The sum is written." }
    )
  })
  const asking = await client.sessions.create({
    ...given,
    title: "Clean the build folder",
    permissions: { default: "ask" },
    message: script("Clean.", { tool: "bash", cmd: "rm -rf build" }, { say: "Done." })
  })
  const waiting = await client.sessions.create({
    ...given,
    title: "A thrifty one",
    budget: { max_tokens: 1 },
    message: script("Do it.", { tool: "bash", cmd: "true" }, { say: "All done." })
  })
  await client.sessions.create({ ...given, title: "A gateway that says no", message: script("Fail.", { error: 401 }) })
  const project = await client.projects.create({
    workspace_id,
    name: "Shop",
    slug: "shop",
    spec: {
      repository: { url: world.forge.url, base_ref: "main" },
      setup: [{ name: "install", argv: ["npm", "ci"] }],
      setup_network: ["registry.npmjs.org"],
      environment: [{ name: "MODE", value: "test" }],
      network: "none",
      tools: {
        mcp_servers: [
          {
            name: "tickets",
            url: "https://mcp.example/tickets",
            headers: { Authorization: { secret: "registry-token", prefix: "Bearer " } },
            allow: ["get_ticket", "close_ticket"],
            permissions: { close_ticket: "ask" }
          }
        ]
      },
      permissions: { default: "ask", tools: { read: "allow" } }
    }
  })
  await client.projects.replaceSecret({ project_id: project.id, name: "registry-token", secret: "canary" })
  await client.automations.create({
    workspace_id,
    name: "Nightly",
    trigger: { kind: "schedule", expression: "30 2 * * *", timezone: "Europe/Berlin" },
    target: {
      kind: "new_session",
      message: "Look for what is outdated.",
      harness: { provider_id: "alpha", model: "scripted-1" }
    }
  })
  const endpoint = await client.webhooks.createEndpoint({
    workspace_id,
    url: "https://hooks.example/reins",
    description: "The bot of the team",
    types: ["turn.action_required", "turn.succeeded"]
  })
  let changeset = ""
  for await (const event of client.sessions.stream({
    session_id: done.id,
    types: ["changeset.ready", "turn.failed"]
  })) {
    changeset = event.changeset_id ?? ""
    break
  }
  for (const { id } of [asking, waiting])
    for await (const { type } of client.sessions.stream({ session_id: id })) if (type === "turn.action_required") break
  return {
    ...pages,
    [`projects/${project.id}`]: "npm ci",
    [`webhooks/${endpoint.id}`]: "Deliveries",
    [`sessions/${done.id}`]: "The sum is written.",
    [`sessions/${done.id}/changes`]: "In the working tree now",
    [`sessions/${done.id}/request`]: "There is no merge request yet.",
    [`sessions/${done.id}/delegations`]: "This session has delegated nothing.",
    [`sessions/${done.id}/files`]: "a.txt",
    [`sessions/${done.id}/events`]: "session.created",
    [`sessions/${done.id}/usage`]: "of 100,000 tokens spent",
    [`sessions/${done.id}/review/${changeset}`]: "export const sum",
    [`sessions/${asking.id}`]: "Allow once",
    [`sessions/${waiting.id}`]: "Raise the budget"
  }
}

/** The findings of axe on what is shown, by light and dark, and the pixels by which it is wider than the window. */
const findingsInBoth = async (page: Page, name: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const look of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: look })
    found.push(...(await findingsOf(page)).map((finding) => `${look} ${name}: ${finding}`))
    await picture(page, `page-${look}-${name}`)
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  return wide > 0 ? [...found, `${name} is ${wide} px wider than the window`] : found
}

const sizes = { desk, phone } as const

describe("the pages of the console", () => {
  let all: Readonly<Record<string, string>>
  beforeAll(async () => {
    all = await furnish()
  })

  for (const [at, size] of Object.entries(sizes))
    it(`have no serious finding of axe at ${size.width} px, by light and dark, and show no failure`, async () => {
      const page = await world.loggedIn("", size)
      const { complaints } = watch(page)
      const found: Array<string> = []
      for (const [path, words] of Object.entries(all)) {
        await page.goto(`${world.server.url}/ui/${path}`)
        await page.locator("main").getByText(words).first().waitFor()
        await page.getByText(/Waiting for/).waitFor({ state: "detached" })
        const name = path.replace(/\/?(\w)\w+_\w+/g, "-$1").replaceAll("/", "-") || "inbox"
        found.push(...(await findingsInBoth(page, `${at}-${name}`)))
      }
      for (const [path, [opens, words]] of Object.entries(dialogs)) {
        await page.goto(`${world.server.url}/ui/${path}`)
        await page.getByText(/Waiting for/).waitFor({ state: "detached" })
        await page.getByRole("button", { name: opens }).click()
        await page.getByRole("dialog").getByText(words).first().waitFor()
        found.push(...(await findingsInBoth(page, `${at}-${path}-dialog`)))
      }
      const [project = ""] = Object.keys(all).filter((path) => path.startsWith("projects/"))
      await page.goto(`${world.server.url}/ui/${project}`)
      await page.getByRole("button", { name: "Publish a version" }).click()
      await page.getByText("Network of agents").waitFor()
      found.push(...(await findingsInBoth(page, `${at}-project-dialog`)))
      assert.deepStrictEqual(found, [])
      assert.deepStrictEqual(complaints, [])
    })

  it("leave a dialog open while the rest of them arrives", async () => {
    const page = await world.loggedIn("account")
    for (const [path, [opens]] of Object.entries(dialogs)) {
      let give = () => {}
      const opened = new Promise<void>((resolve) => {
        give = resolve
      })
      let held = 0
      await page.route("**/api/**", (route) => {
        // The button of a budget needs the workspace.
        if (path === "usage" && !route.request().url().includes("/usage")) return route.continue()
        held++
        return opened.then(() => route.continue())
      })
      await page.locator("nav").locator(`a[href="${path}"]`).first().click()
      await page.getByRole("button", { name: opens }).click()
      await page.locator("dialog:modal").waitFor()
      assert.isAbove(held, 0, path)
      give()
      await page.getByText(/Waiting for/).waitFor({ state: "detached" })
      await page.unroute("**/api/**")
      assert.isTrue(await page.locator("dialog:modal").isVisible(), path)
      await page.keyboard.press("Escape")
    }
  })

  it("are reached by Tab alone, in their order, each stop with a ring around it that can be seen", async () => {
    const page = await world.loggedIn("webhooks")
    await page.getByText("hooks.example").waitFor()
    // Questions come live, and take a part of the page.
    const asked = page.getByRole("complementary", { name: "Waiting for your answer" })
    for (const name of ["Allow once", "Raise the budget"]) await asked.getByRole("button", { name }).first().waitFor()
    await page.evaluate(() => (document.activeElement instanceof HTMLElement ? document.activeElement.blur() : null))
    const wanted = await page.evaluate(() =>
      [...document.querySelectorAll("a[href], button:not(:disabled), select, input, textarea, summary")]
        .filter((element) => element.checkVisibility())
        .map((element, index) => {
          element.setAttribute("data-stop", `${index}`)
          return element.outerHTML
        })
    )
    const reached: Array<number> = []
    const bare: Array<string> = []
    // What scrolls is a stop for keys as well.
    const others = 5
    for (let pressed = 0; pressed < wanted.length + others && reached.length < wanted.length; pressed++) {
      await page.keyboard.press("Tab")
      const { html, ring, stop } = await page.evaluate(() => {
        const element = document.activeElement ?? document.body
        const { outlineStyle, outlineWidth } = getComputedStyle(element)
        const ring = outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0
        return { stop: Number(element.getAttribute("data-stop") ?? -1), html: element.outerHTML, ring }
      })
      if (stop >= 0) reached.push(stop)
      if (!ring) bare.push(html)
    }
    const missed = wanted.filter((_, index) => !reached.includes(index))
    assert.deepStrictEqual(missed, [])
    assert.deepStrictEqual(
      reached,
      reached.toSorted((one, other) => one - other)
    )
    assert.deepStrictEqual(bare, [])
  })

  it("survive a login: who follows a link and is asked to log in comes to the page of the link", async () => {
    const caller = await world.caller()
    const session = await caller.newSession(caller.at(world.server))
    const page = await world.newPage(desk, { isStranger: true })
    const { complaints } = watch(page)
    await page.goto(`${world.server.url}/ui/sessions/${session}/events`)
    await page.getByRole("heading", { name: "Log in" }).waitFor()
    assert.deepStrictEqual(complaints, [])
    assert.deepStrictEqual(await findingsOf(page), [])
    await logIn(page)
    await page.getByText("session.created").waitFor()
    // A login that has ended elsewhere asks again, in the same place.
    await page.context().clearCookies({ name: /^reins_session_/ })
    await page.reload()
    await logIn(page)
    await page.getByText("session.created").waitFor()
  })

  it("say after a second what they wait for", async () => {
    const page = await world.loggedIn("account")
    let answer: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route("**/webhook-endpoints*", async (route) => {
      await held
      await route.continue()
    })
    await page.getByRole("link", { name: "Webhooks" }).click()
    await page.getByText(/Waiting for the webhook endpoints \d+ s/).waitFor()
    answer()
    await page.getByText("hooks.example").waitFor()
  })

  it("say what fails in a sentence, and the server's own words and the request behind “Details”", async () => {
    const page = await world.loggedIn("sessions/sess_01k00000000000000000000023")
    const alert = page.getByRole("alert")
    await alert.getByText("This does not exist, or you may not see it.").waitFor()
    assert.notInclude(await alert.innerText(), "not_found")
    await alert.getByText("Details").click()
    await alert.getByText("No such resource, or it is not visible to these credentials.").waitFor()
    assert.match(await alert.innerText(), /not_found request [0-9a-f-]{36}/)
  })
})
