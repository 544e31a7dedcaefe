import { createServer } from "node:http"
import { picture } from "@reins/testing/browser/Browser"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { Effect, Exit, Scope } from "effect"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { agentLabel } from "../src/agents/AgentLabel.js"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()
let scope: Scope.CloseableScope
beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const session = async (message: string) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { id } = await client.sessions.create({ workspace_id: caller.workspaceId, harness, title: "A fault", message })
  for await (const { type } of client.sessions.stream({ session_id: id })) if (type === "turn.succeeded") break
  return { client, id }
}

describe("faults that people met", () => {
  it("a model is filled in where few are listed, and an empty one is told at its field before anything is sent", async () => {
    await world.caller()
    const page = await world.loggedIn("new")
    const model = page.getByRole("combobox", { name: "Model" })
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[name=model]")?.value === "scripted-1")
    await model.fill("")
    await page.getByLabel("Message", { exact: true }).fill("Hello.")
    await page.getByRole("button", { name: "Start the session" }).click()
    assert.isTrue(await model.evaluate((field) => field instanceof HTMLInputElement && field.validity.valueMissing))
    assert.match(page.url(), /\/ui\/new$/)
  })

  it("the agent is searched in a list, and the one of the last session comes first", async () => {
    await world.caller()
    const page = await world.loggedIn("new")
    const agent = page.getByRole("combobox", { name: "Agent" })
    assert.strictEqual(await agent.inputValue(), "OpenCode")
    await agent.click()
    const list = page.getByRole("listbox")
    assert.deepStrictEqual(await list.getByRole("option").allInnerTexts(), ["OpenCode\nalpha", "Codex\nbeta"])
    await agent.pressSequentially("dex")
    // A text that is no agent changes nothing.
    await page.keyboard.press("Escape")
    assert.strictEqual(await agent.inputValue(), "OpenCode")
    await agent.fill("cod bet")
    await list.getByText("Codex").waitFor()
    await page.keyboard.press("Enter")
    await list.waitFor({ state: "detached" })
    assert.strictEqual(await agent.inputValue(), "Codex")
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[name=model]")?.value === "scripted-1")
    await page.getByLabel("Message", { exact: true }).fill(script("Say.", { say: "From Codex." }))
    await page.getByRole("button", { name: "Start the session" }).click()
    await page.getByText("From Codex.", { exact: true }).waitFor()
    await page.goto(`${world.server.url}/ui/new`)
    await page.waitForFunction(() => document.querySelector("[name=provider_id]")?.getAttribute("value") === "beta")
    await agent.click()
    assert.deepStrictEqual(await list.locator(".heading").allInnerTexts(), ["Used last", "All agents"])
    assert.match((await list.getByRole("option").first().innerText()) ?? "", /^Codex/)
  })

  it("a refused key leaves the step open, and is replaced where it was given", async () => {
    const gateway = await startGateway({ apiKey: "the-right-key" })
    try {
      await world.caller()
      const page = await world.loggedIn("settings", desk, { isStranger: true })
      await page.getByLabel("Name of the new workspace").fill("Fresh")
      await page.getByRole("button", { name: "Create" }).click()
      await page.getByLabel("Workspace", { exact: true }).waitFor()
      await page.goto(`${world.server.url}/ui/start`)
      const step = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: /^A connection/ }) })
      await step.getByLabel("Base URL").fill(gateway.url)
      await step.getByLabel("API key").fill("a-wrong-key")
      await step.getByRole("button", { name: "Create the connection" }).click()
      await step.getByText("The gateway refuses this key. Replace it here.").waitFor()
      assert.notInclude((await step.getAttribute("class")) ?? "", "done")
      await page.getByText("You need an agent and a connection that works.").waitFor()
      assert.strictEqual(await step.getByLabel("Base URL").inputValue(), gateway.url)
      await step.getByLabel("API key").fill("the-right-key")
      await step.getByRole("button", { name: "Replace the credential" }).click()
      await step.getByRole("button", { name: "Validate" }).click()
      await step.getByText("validation passed").waitFor()
      await page.getByRole("button", { name: "Start the session" }).waitFor()
      assert.include((await step.getAttribute("class")) ?? "", "done")
    } finally {
      await gateway.close()
    }
  })

  it("two agents of one name are told apart by their ids", () => {
    const [alpha, opencode, beta] = [
      { provider_id: "alpha", display_name: "OpenCode" },
      { provider_id: "opencode", display_name: "OpenCode" },
      { provider_id: "beta", display_name: "Codex" }
    ] as const
    const all = [alpha, opencode, beta]
    assert.deepStrictEqual(
      all.map((each) => agentLabel(each, all)),
      ["OpenCode (alpha)", "OpenCode (opencode)", "Codex"]
    )
    assert.strictEqual(agentLabel(alpha, [alpha, beta]), "OpenCode")
  })

  it("the end of a turn is told once", async () => {
    const { id } = await session(script("Say.", { say: "Told." }))
    const page = await world.loggedIn(`sessions/${id}`)
    await page.getByText("Told.", { exact: true }).waitFor()
    await page.locator(".turn-end").getByText("succeeded").waitFor()
    await page.locator(".turn-bar").waitFor({ state: "detached" })
    assert.strictEqual(await page.getByText("succeeded", { exact: true }).count(), 1)
  })

  it("the list and the diff of a review have one order", async () => {
    const written = ["src/b.js", "README.md", "docs/a.md"].map((path) => ({ tool: "write", path, content: "one\n" }))
    const { client, id } = await session(script("Write.", ...written, { say: "Written." }))
    const changeset = (await client.sessions.listChangesets({ session_id: id, state: "ready" })).items[0]?.id ?? ""
    const page = await world.loggedIn(`sessions/${id}/review/${changeset}`)
    await page.locator(".file-head").nth(2).waitFor()
    const diff = await page.locator(".file-head code").allInnerTexts()
    const tree = page.getByRole("navigation", { name: "Changed files" })
    const list = await tree.locator("button:not(.folder) > span:first-child").allInnerTexts()
    assert.deepStrictEqual(
      list,
      diff.map((path) => path.replace(/^.*\//, ""))
    )
  })

  it("a test of a webhook is sent from its page", async () => {
    const caller = await world.caller()
    const got: Array<string> = []
    const port = await Effect.runPromise(
      Scope.extend(
        onLoopback(() =>
          createServer(async (request, response) => {
            for await (const chunk of request) got.push(String(chunk))
            response.writeHead(204).end()
          })
        ),
        scope
      )
    )
    const url = `http://127.0.0.1:${port}/`
    const endpoint = await caller
      .at(world.server)
      .webhooks.createEndpoint({ workspace_id: caller.workspaceId, url, types: ["turn.failed"] })
    const page = await world.loggedIn(`webhooks/${endpoint.id}`)
    await page.getByRole("button", { name: "Send a test" }).click()
    await page.getByText("webhook.test").first().waitFor()
    await page.locator(".state").getByText("succeeded").waitFor()
    assert.strictEqual(got.length, 1)
  })

  it("a credential is replaced with its address in place", async () => {
    await world.caller()
    const page = await world.loggedIn("connections")
    const card = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "alpha_gateway" }) })
    await card.getByRole("button", { name: "Replace the credential" }).click()
    const dialog = page.getByRole("dialog")
    assert.strictEqual(await dialog.getByLabel("Base URL").inputValue(), world.place.gateway.url)
    assert.strictEqual(await dialog.getByLabel("API key").inputValue(), "")
  })

  it("what was wrong with a field ends when that field changes, and with the last one the error ends", async () => {
    await world.caller()
    const page = await world.loggedIn("webhooks")
    await page.getByRole("button", { name: "New endpoint" }).first().click()
    const dialog = page.getByRole("dialog")
    const address = dialog.getByLabel("Address")
    const types = dialog.getByLabel("Other types")
    await dialog.getByLabel("some events").check()
    await address.fill("ftp://example.com/hook")
    await types.fill("no.such_type")
    await dialog.getByRole("button", { name: "Create the endpoint" }).click()
    const wrong = dialog.locator(".field.wrong")
    await wrong.nth(1).waitFor()
    await dialog.getByLabel("Description").fill("It is right.")
    assert.strictEqual(await wrong.count(), 2)
    await address.fill("https://example.com/hook")
    await wrong.nth(1).waitFor({ state: "detached" })
    assert.isNull(await address.getAttribute("aria-invalid"))
    assert.strictEqual(await types.getAttribute("aria-invalid"), "true")
    await types.fill("turn.failed")
    await wrong.first().waitFor({ state: "detached" })
    assert.strictEqual(await page.getByRole("alert").count(), 0)
  })

  it("a branch that is not there is told at its field until it changes", async () => {
    await world.caller()
    const page = await world.loggedIn("new")
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[name=model]")?.value === "scripted-1")
    await page.getByLabel("Message", { exact: true }).fill("Hello.")
    await page.getByLabel("Repository", { exact: true }).fill(world.forge.url)
    await page.getByLabel("Branch", { exact: true }).fill("no-such-branch")
    await page.getByRole("button", { name: "Start the session" }).click()
    const wrong = page.locator(".field.wrong")
    await wrong.getByText("The repository has no such branch, tag or commit.").waitFor()
    await page.getByLabel("Branch", { exact: true }).fill("no-such-branch-either")
    await wrong.waitFor({ state: "detached" })
    assert.strictEqual(await page.getByRole("alert").count(), 0)
  })

  it.each(["server", "start"])("agents that are off are named, each with what turns it on: %s", async (path) => {
    await world.caller()
    const page = await world.loggedIn(path)
    await page.getByText(/^\d+ more agents are off on this server$/).click()
    for (const [at, size] of Object.entries({ desk, phone })) {
      await page.setViewportSize(size)
      await picture(page, `agents-off-${path}-${at}`)
      assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), size.width)
    }
    await page.setViewportSize(desk)
    for (const name of ["Claude Code", "Gemini CLI", "Qwen Code"])
      await page.getByRole("button", { name: `Enable and install ${name}` }).waitFor()
    // A program that is not open is not taken by mistake.
    const copilot = page.getByRole("button", { name: "Enable and install GitHub Copilot CLI" })
    assert.isTrue(await copilot.isDisabled())
    await page.getByLabel("I have read its licence (proprietary) and may use it.").check()
    assert.isFalse(await copilot.isDisabled())
  })

  it("an agent that is off is turned on and chosen, without a new start of the server", async () => {
    const caller = await world.caller()
    const page = await world.loggedIn("server")
    await page.getByText(/^\d+ more agents are off on this server$/).click()
    // Its packages are those of alpha, so they are there.
    await page.getByRole("button", { name: "Enable and install OpenCode (opencode)" }).click()
    const card = page.getByRole("listitem").filter({ has: page.locator("h3 code", { hasText: /^opencode$/ }) })
    await card.getByText(/^installed \d/).waitFor()
    await page.getByRole("button", { name: "Enable and install OpenCode (opencode)" }).waitFor({ state: "detached" })
    assert.strictEqual(await page.getByRole("alert").count(), 0)
    await page.goto(`${world.server.url}/ui/new`)
    await page.getByRole("combobox", { name: "Agent" }).click()
    const names = await page.getByRole("listbox").getByRole("option").allInnerTexts()
    assert.include(names.join(), "opencode")
    const { items } = await caller.at(world.server).catalog.listHarnesses()
    assert.deepInclude(
      items.find(({ provider_id }) => provider_id === "opencode"),
      { installed: true, source: "optional" }
    )
  })
})
