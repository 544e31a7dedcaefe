import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { picture, watch } from "@reins/testing/browser/Browser"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, logIn, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** The file of axe is run in the page by the tools of the browser, which no policy of the page holds back. */
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** The serious findings of axe on a page, in words. */
const findingsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    // Boundary: axe puts itself into the page.
    const { violations } = await (globalThis as unknown as { axe: { run: () => Promise<AxeResult> } }).axe.run()
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ help, id, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" | ")}`)
  })
}

interface AxeResult {
  readonly violations: ReadonlyArray<{
    readonly id: string
    readonly help: string
    readonly impact: string
    readonly nodes: ReadonlyArray<{ readonly html: string }>
  }>
}

/** The words that each page shows once it is there. */
const pages = {
  "": "Needs you",
  new: "Start the session",
  start: "The first session",
  connections: "alpha_gateway",
  projects: "There is no project",
  members: "owner@example.com",
  keys: "rk_",
  usage: "alpha · scripted-1",
  server: "requests per minute",
  account: "Change the password",
  nowhere: "There is no such page"
} as const

describe("the pages of the console", () => {
  it("have no serious finding of axe and no word of a failure, by light and dark, on a desk and on a phone", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const given = { workspace_id: caller.workspaceId, harness: { provider_id: "alpha", model: "scripted-1" } }
    const done = await client.sessions.create({
      ...given,
      title: "Write the sum",
      labels: { team: "web" },
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
    await client.sessions.create({
      ...given,
      title: "A gateway that says no",
      message: script("Fail.", { error: 401 })
    })
    let changeset = ""
    for await (const event of client.sessions.stream({
      session_id: done.id,
      types: ["changeset.ready", "turn.failed"]
    })) {
      changeset = event.changeset_id ?? ""
      break
    }
    for await (const { type } of client.sessions.stream({ session_id: asking.id }))
      if (type === "turn.action_required") break
    const all = {
      ...pages,
      [`sessions/${done.id}`]: "The sum is written.",
      [`sessions/${done.id}/changes`]: "In the workspace now",
      [`sessions/${done.id}/files`]: "a.txt",
      [`sessions/${done.id}/events`]: "session.created",
      [`sessions/${done.id}/usage`]: "alpha · scripted-1",
      [`sessions/${done.id}/review/${changeset}`]: "export const sum",
      [`sessions/${asking.id}`]: "Allow once"
    }
    const page = await world.loggedIn()
    const { complaints } = watch(page)
    const found: Array<string> = []
    for (const [look, size] of [
      ["light", desk],
      ["dark", phone]
    ] as const) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme: look })
      for (const [path, words] of Object.entries(all)) {
        await page.goto(`${world.server.url}/ui/${path}`)
        await page.locator("main").getByText(words).first().waitFor()
        await page.getByText(/Waiting for/).waitFor({ state: "detached" })
        found.push(...(await findingsOf(page)).map((finding) => `${look} /ui/${path}: ${finding}`))
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (wide > 0) found.push(`${look} /ui/${path} is ${wide} px wider than the window`)
        await picture(page, `page-${look}-${path.replace(/\/?\w+_\w+/g, "").replaceAll("/", "-") || "inbox"}`)
      }
    }
    assert.deepStrictEqual(found, [])
    assert.deepStrictEqual(complaints, [])
  })

  it("survive a login: who follows a link and is asked to log in comes to the page of the link", async () => {
    const caller = await world.caller()
    const session = await caller.newSession(caller.at(world.server))
    const page = await world.newPage()
    const { complaints } = watch(page)
    await page.goto(`${world.server.url}/ui/sessions/${session}/events`)
    await page.getByRole("heading", { name: "Log in" }).waitFor()
    assert.deepStrictEqual(complaints, [])
    assert.deepStrictEqual(await findingsOf(page), [])
    await logIn(page)
    await page.getByText("session.created").waitFor()
    // A login that has ended elsewhere asks again, in the same place.
    await page.context().clearCookies({ name: "reins_session" })
    await page.reload()
    await logIn(page)
    await page.getByText("session.created").waitFor()
  })

  it("say the API's own sentence and the request of what fails", async () => {
    await world.caller()
    const page = await world.loggedIn("sessions/sess_01k00000000000000000000023")
    const alert = page.getByRole("alert")
    await alert.getByText("No such resource, or it is not visible to these credentials.").waitFor()
    assert.match(await alert.innerText(), /not_found request [0-9a-f-]{36}/)
  })
})
