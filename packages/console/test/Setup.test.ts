import { createServer } from "node:http"
import { webhooks } from "@reins/client"
import { picture, watch } from "@reins/testing/browser/Browser"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { newKey, password } from "@reins/testing/process/Caller"
import { linkFor } from "@reins/testing/process/Outbox"
import { Effect, Exit, Scope } from "effect"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { harness, logIn, worldForFile } from "./World.js"

const world = worldForFile()
let scope: Scope.CloseableScope
beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

/** A receiver of webhooks, which answers with the status that it is told. */
const receiver = async () => {
  const got: Array<{ readonly body: string; readonly headers: Record<string, string> }> = []
  const answer = { status: 500 }
  const port = await Effect.runPromise(
    Scope.extend(
      onLoopback(() =>
        createServer(async (request, response) => {
          const chunks = []
          for await (const chunk of request) chunks.push(chunk)
          const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
          got.push({ body: Buffer.concat(chunks).toString(), headers: Object.fromEntries(headers) })
          response.writeHead(answer.status).end(answer.status === 500 ? "Out of order." : "Thanks.")
        })
      ),
      scope
    )
  )
  return { url: `http://127.0.0.1:${port}/reins`, got, answer }
}

describe("the set-up of a workspace in the console", () => {
  it("webhooks: an endpoint is made, fails, is shown with its attempts, redelivered, rotated, disabled and removed", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { answer, got, url } = await receiver()
    const page = await world.loggedIn("webhooks")
    const { complaints } = watch(page)
    await page.getByText("There is no endpoint.").waitFor()
    await button(page, "New endpoint").click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Address").fill(url)
    await dialog.getByLabel("some events").check()
    await dialog.getByLabel("Other types").fill("turn.never")
    await button(page, "Create the endpoint").click()
    await dialog.getByRole("alert").getByText("Check the marked field.").waitFor()
    await dialog.locator(".fault").waitFor()
    await dialog.getByLabel("Other types").fill("")
    await dialog.getByLabel(/a turn has ended/).check()
    await picture(page, "webhook-form")
    await button(page, "Create the endpoint").click()
    const secret = await dialog.getByText(/^whsec_/).innerText()
    await dialog.getByText("It is shown this once").waitFor()
    await button(page, "Close").click()
    await page.getByText("turn.succeeded, turn.failed, turn.cancelled, turn.interrupted").waitFor()
    assert.notInclude(await page.locator("body").innerText(), secret)

    await page.getByRole("link", { name: url }).click()
    await page.getByText("Nothing was sent yet.").waitFor()
    await client.sessions.create({
      workspace_id: caller.workspaceId,
      harness,
      message: script("Say.", { say: "Hello." })
    })
    await button(page, "turn.succeeded").click()
    await page.getByText("Out of order.").waitFor()
    await page.getByText(/again in /).waitFor()
    await page.getByText("failing").waitFor()
    await picture(page, "webhook-failing")

    answer.status = 200
    await button(page, "Try now").click()
    await page.getByText("Thanks.").waitFor()
    await page.getByText("enabled", { exact: true }).waitFor()
    const [first] = got
    const delivered = await webhooks.verify(first?.body ?? "", first?.headers ?? {}, secret)
    assert.strictEqual(delivered.type, "turn.succeeded")
    await button(page, "Deliver again").click()
    await page.getByText("attempt 3").waitFor()

    await button(page, "Rotate the secret").click()
    await button(page, "Make a new secret").click()
    const rotated = await dialog.getByText(/^whsec_/).innerText()
    assert.notStrictEqual(rotated, secret)
    await button(page, "Close").click()
    await page.getByText(/signed with the secret before too until/).waitFor()
    await button(page, "Deliver again").click()
    await page.getByText("attempt 4").waitFor()
    const last = got.at(-1)
    for (const each of [secret, rotated]) await webhooks.verify(last?.body ?? "", last?.headers ?? {}, each)

    await button(page, "Change").click()
    await dialog.getByLabel("Description (optional)").fill("The bot of the team")
    await button(page, "Save").click()
    await page.getByText("The bot of the team").waitFor()
    await button(page, "Disable").click()
    await page.getByText("disabled by hand").waitFor()
    await button(page, "Enable").click()
    await page.getByText("enabled", { exact: true }).waitFor()
    await page.getByLabel("State").selectOption("failed")
    await page.getByText("No delivery is failed.").waitFor()
    await button(page, "Remove").click()
    await page.getByText("It goes with its deliveries.").waitFor()
    await page.keyboard.press("Escape")
    await button(page, "Remove").click()
    await page.getByText("It goes with its deliveries.").waitFor()
    await page.keyboard.press("Enter")
    await page.getByText("There is no endpoint.").waitFor()
    // The refused type is a complaint of the browser about a status of 422.
    assert.isBelow(complaints.length, 2, complaints.join("\n"))
  })

  it("projects: a form for what people use, the same as JSON, secrets, and a session that begins from it", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const page = await world.loggedIn("projects")
    const dialog = page.getByRole("dialog")
    await button(page, "New project").click()
    await dialog.getByLabel("Name").fill("Web")
    await dialog.getByLabel("Slug").fill("web")
    await dialog.getByLabel("Repository (optional)").fill(world.forge.url)
    await button(page, "Create the project").click()
    await page.getByRole("heading", { name: "Web" }).waitFor()

    const secrets = page.getByRole("region", { name: "Secrets" })
    await secrets.getByLabel("Name").fill("registry-token")
    await secrets.getByLabel("Value").fill("canary-token-51")
    await button(page, "Save secret").click()
    await secrets.getByText("value 1").waitFor()

    await button(page, "Publish a version").click()
    assert.strictEqual(await dialog.getByLabel("URL").inputValue(), world.forge.url)
    await dialog.getByLabel("Branch", { exact: true }).fill("main")
    await dialog.getByLabel("Agent", { exact: true }).selectOption("alpha")
    await dialog.getByLabel("Model").fill("scripted-1")
    await button(page, "Add a step").click()
    await dialog.getByLabel("Name").first().fill("greet")
    await dialog.getByLabel("Command").fill('printf %s "$GREETING" > greeting.txt')
    await button(page, "Add a variable").click()
    const name = dialog.getByRole("group", { name: "Environment" }).getByLabel("Name")
    await name.fill("GREETING")
    await dialog.getByRole("group", { name: "Environment" }).getByLabel("Value").fill("Good morning")
    await button(page, "Add a variable").click()
    await name.last().fill("TOKEN")
    await dialog.getByLabel("Source", { exact: true }).last().selectOption("registry-token")
    await dialog.getByLabel("A turn, in minutes").fill("5")
    await dialog.getByLabel("A turn, in minutes").blur()
    await dialog.getByRole("group", { name: "Permissions" }).getByLabel("Tools of the agent").selectOption("ask")
    await dialog.getByText("Other rules for some kinds of tools").click()
    await dialog.getByLabel("edit", { exact: true }).selectOption("allow")
    await picture(page, "project-form")
    await button(page, "JSON").click()
    const json = dialog.getByRole("textbox", { name: "Spec" })
    assert.deepStrictEqual(JSON.parse(await json.inputValue()), {
      repository: { url: world.forge.url, base_ref: "main" },
      harness: { provider_id: "alpha", model: "scripted-1" },
      setup: [{ name: "greet", argv: ["sh", "-c", 'printf %s "$GREETING" > greeting.txt'] }],
      environment: [
        { name: "GREETING", value: "Good morning" },
        { name: "TOKEN", secret: "registry-token" }
      ],
      executor: { backend: JSON.parse(await json.inputValue()).executor.backend, limits: { turn_seconds: 300 } },
      permissions: { default: "ask", tools: { edit: "allow" } }
    })
    const whole = await json.inputValue()
    await json.fill("{ not JSON")
    await button(page, "Form").click()
    await dialog.getByText(/The spec is no JSON/).waitFor()
    await json.fill(whole)
    await button(page, "Form").click()
    assert.strictEqual(await dialog.getByLabel("Command").inputValue(), 'printf %s "$GREETING" > greeting.txt')
    await dialog.getByLabel("Notes (optional)").fill("It greets.")
    await button(page, "Publish").click()
    await page.getByText("It greets.").waitFor()
    await page.getByText("GREETING, TOKEN (secret registry-token)").waitFor()
    await picture(page, "project")

    await page.getByRole("link", { name: "New session" }).first().click()
    await page.getByLabel("Project").selectOption({ label: "Web" })
    await page.getByLabel("Message").fill(script("Look.", { tool: "bash", cmd: "cat greeting.txt" }, { say: "Seen." }))
    await page.getByLabel("Agent", { exact: true }).fill("the agent and the model of the project")
    await button(page, "Start the session").click()
    await button(page, "Allow once").click()
    await page.getByText("Seen.", { exact: true }).waitFor()
    const [id = ""] = /sess_\w+/.exec(page.url()) ?? []
    const file = await client.sessions.getFile({ session_id: id, path: "greeting.txt" })
    assert.strictEqual(file.content, "Good morning")
  })

  it("members: one is invited, joins, sees what a viewer may, gets another role, and is removed", async () => {
    const caller = await world.caller()
    const page = await world.loggedIn("members")
    newKey(world.place.dataDir, world.env, "bob@example.com")
    await page.getByLabel("E-mail address").fill("bob@example.com")
    await page.getByLabel("Role", { exact: true }).selectOption("viewer")
    await button(page, "Invite").click()
    await page.getByText("invited").waitFor()
    const bob = await world.newPage(undefined, { isStranger: true })
    await bob.goto(await linkFor(world.place.dataDir, "bob@example.com", "join"))
    await bob.getByRole("button", { name: /Join/ }).click()
    await bob.getByRole("heading", { name: "You are a member now" }).waitFor()
    await bob.goto(`${world.server.url}/ui`)
    await logIn(bob, { email: "bob@example.com", password })
    await bob.getByLabel("Workspace").selectOption(caller.workspaceId)
    await bob.goto(`${world.server.url}/ui/members`)
    await bob.getByText("owner@example.com").first().waitFor()
    assert.strictEqual(await button(bob, "Invite").count(), 0)
    await bob.goto(`${world.server.url}/ui/webhooks`)
    await bob.getByText("Only an owner may do this.").waitFor()
    await bob.goto(`${world.server.url}/ui/connections`)
    await bob.getByRole("heading", { name: "alpha_gateway" }).waitFor()
    assert.strictEqual(await button(bob, "New connection").count(), 0)

    await page.reload()
    await page.getByLabel("Role of bob@example.com").selectOption("member")
    await bob.reload()
    await button(bob, "New connection").waitFor()

    const { id } = await caller
      .at(world.server)
      .sessions.create({ workspace_id: caller.workspaceId, harness, title: "Shared work" })
    await bob.goto(`${world.server.url}/ui/sessions/${id}`)
    await bob.getByLabel("Message", { exact: true }).fill(script("Say.", { say: "Good morning." }))
    await button(bob, "Send").click()
    await bob.getByText("Good morning.", { exact: true }).waitFor()
    await bob.getByText(/^You · /).waitFor()
    await page.goto(`${world.server.url}/ui/sessions/${id}`)
    await page.getByText(/^bob@example\.com · /).waitFor()

    await page.goto(`${world.server.url}/ui/members`)
    await button(page, "Remove").click()
    await page.getByText("bob@example.com loses all access.").waitFor()
    await page.keyboard.press("Enter")
    await page.getByText("bob@example.com", { exact: true }).first().waitFor({ state: "detached" })
    await bob.reload()
    await bob.getByRole("heading", { name: "alpha_gateway" }).waitFor({ state: "detached" })
    await page.goto(`${world.server.url}/ui/sessions/${id}`)
    await page.getByText(/^Another person · /).waitFor()
  })

  it("connections: one gets prices and another credential, is disabled and revoked, and no secret comes back", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const page = await world.loggedIn("connections")
    const card = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "beta" }) })
    const dialog = page.getByRole("dialog")
    await card.getByRole("button", { name: "Change" }).click()
    await button(page, "Add a price").click()
    assert.strictEqual(await dialog.getByLabel("Model", { exact: true }).inputValue(), "*")
    await dialog.getByLabel("Input").fill("2.5")
    await dialog.getByLabel("Output").fill("10")
    await dialog.getByLabel("Preferred model").fill("scripted-2")
    await picture(page, "connection-change")
    await button(page, "Save").click()
    await card.getByText("prefers scripted-2 · prices of 1 model").waitFor()
    await card.getByRole("button", { name: "Replace the credential" }).click()
    assert.strictEqual(await dialog.getByLabel("API key").inputValue(), "")
    await dialog.getByLabel("Base URL (optional)").fill(world.place.gateway.url)
    await dialog.getByLabel("API key").fill("canary-gateway-key-9999")
    await dialog.getByRole("button", { name: "Replace the credential" }).click()
    await card.getByText("credential 2, ending in 9999").waitFor()
    assert.notInclude(await page.content(), "canary-gateway-key-9999")
    const { items } = await client.connections.list({ workspace_id: caller.workspaceId })
    assert.deepStrictEqual(items.find(({ kind }) => kind === "beta")?.prices, { "*": { input: 2.5, output: 10 } })
    await card.getByRole("button", { name: "Disable" }).click()
    await card.getByText("disabled").waitFor()
    await card.getByRole("button", { name: "Enable" }).click()
    await card.getByRole("button", { name: "Disable" }).waitFor()
    await card.getByRole("button", { name: "Revoke" }).click()
    await card.getByText("Its credential is deleted").waitFor()
    await page.keyboard.press("Enter")
    await card.getByText("revoked").waitFor()
  })

  it("keys: one is shown once, has a budget, works, and is refused once it is revoked", async () => {
    const page = await world.loggedIn("keys")
    const dialog = page.getByRole("dialog")
    await button(page, "New key").click()
    await dialog.getByLabel("Name").fill("robot")
    await dialog.getByText("Budget", { exact: true }).click()
    await dialog.getByLabel("Tokens in all").fill("5000")
    await button(page, "Create the key").click()
    const key = await dialog.getByText(/^rk_/).innerText()
    await picture(page, "key-once")
    await button(page, "Close").click()
    const row = page.getByRole("listitem").filter({ hasText: "robot" })
    await row.getByText("0 of 5,000 tokens spent").waitFor()
    assert.notInclude(await page.locator("body").innerText(), key)
    const call = () =>
      fetch(`${world.server.url}/api/workspaces`, { headers: { authorization: `Bearer ${key}` } }).then(
        ({ status }) => status
      )
    assert.strictEqual(await call(), 200)
    await button(page, "Budget").and(row.getByRole("button")).click()
    await dialog.getByLabel("Tokens in all").fill("9000")
    await button(page, "Change the budget").click()
    await row.getByText("0 of 9,000 tokens spent").waitFor()
    await row.getByRole("button", { name: "Revoke" }).click()
    await row.getByRole("button", { name: "Revoke" }).click()
    await row.getByText("revoked").waitFor()
    assert.strictEqual(await call(), 401)
  })

  it("usage: by model, day, session and key, with a budget of the workspace that is set and raised", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const made = { workspace_id: caller.workspaceId, harness, title: "A spender" }
    const { id } = await client.sessions.create(made)
    await client.run({ session_id: id, content: script("Say.", { say: "Spent." }) }).final()
    const page = await world.loggedIn("usage")
    await page.getByText("This workspace may spend without a limit.").waitFor()
    await button(page, "Set a budget").click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Tokens in all").fill("1000000")
    await dialog.getByLabel("Tokens in all").press("Enter")
    const card = page.getByRole("region", { name: "Budget of the workspace" })
    await card.getByText("0 of 1,000,000 tokens spent").waitFor()
    for (const [by, words] of [
      ["model", "OpenCode · scripted-1"],
      ["day", new Date().toISOString().slice(0, 10)],
      ["session", "A spender"],
      ["api_key", "test"]
    ] as const) {
      await page.getByLabel("By", { exact: true }).selectOption(by)
      await page
        .getByRole("region", { name: /^Usage by/ })
        .getByText(words)
        .first()
        .waitFor()
    }
    await picture(page, "usage")
    await page.getByLabel("From", { exact: true }).fill("2020-01-01")
    await page.getByLabel("To", { exact: true }).fill("2020-01-02")
    await page.getByText("No turn has ended in this time.").waitFor()
    await button(page, "Change the budget").click()
    await dialog.getByLabel("Tokens in all").fill("2000000")
    await button(page, "Change the budget").last().click()
    await card.getByText("of 2,000,000 tokens spent").waitFor()
    assert.strictEqual(
      (await client.workspaces.get({ workspace_id: caller.workspaceId })).budget?.max_tokens,
      2_000_000
    )
  })
})
