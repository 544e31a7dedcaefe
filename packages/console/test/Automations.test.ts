import { picture, watch } from "@reins/testing/browser/Browser"
import { newKey, password } from "@reins/testing/process/Caller"
import { linkFor } from "@reins/testing/process/Outbox"
import { eventually } from "@reins/testing/process/Waiting"
import type { Locator, Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { desk, logIn, phone, type Size, worldForFile } from "./World.js"

const world = worldForFile()

const message = script("Look.", { say: "I have looked." })

const sizes: Readonly<Record<string, Size>> = { desk, phone }

/** The page of the automations, whose owner has a connection for its agent. */
const pageAt = async (size: Size) => {
  const caller = await world.caller()
  const page = await world.loggedIn("automations", size)
  return { page, client: caller.at(world.server), workspace_id: caller.workspaceId, ...watch(page) }
}

/** The findings of axe, and the pixels by which the page or its dialog is wider than the window. */
const faultsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  const wide = await page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll("dialog")]
      .filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth)
      .map(({ clientWidth, scrollWidth, tagName }) => `${tagName} has ${scrollWidth} px in ${clientWidth}`)
  )
  return [...(await findingsOf(page)), ...wide]
}

const button = (of: Page | Locator, name: string) => of.getByRole("button", { name, exact: true })

/** The dialog of a new automation with its name, its message and its agent filled in. */
const newOne = async (page: Page, name: string): Promise<Locator> => {
  await button(page, "New automation").click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Name").fill(name)
  await dialog.getByLabel("Message").fill(message)
  await dialog.getByLabel("Model").fill("scripted-1")
  return dialog
}

const cardOf = (page: Page, name: string) =>
  page.getByRole("listitem").filter({ has: page.getByRole("heading", { name, exact: true, level: 2 }) })

/** The link of the newest run, once it has ended well. */
const succeeded = (card: Locator) => card.getByRole("link", { name: /^succeeded today at/ })

for (const [at, size] of Object.entries(sizes))
  describe(`the automations at ${size.width} px`, () => {
    it("a schedule is made with its next times in sight, changed, and run", async () => {
      const { client, complaints, page, workspace_id } = await pageAt(size)
      const name = `Dependencies ${at}`
      const dialog = await newOne(page, name)
      const times = dialog.getByRole("status").getByRole("listitem")
      await times.nth(4).waitFor()
      await dialog.getByLabel("Times", { exact: true }).selectOption({ label: "every day at 2:30" })
      assert.strictEqual(await dialog.getByLabel("Expression").inputValue(), "30 2 * * *")
      await dialog.getByLabel("Time zone").fill("Asia/Tokyo")
      await dialog.getByText("02:30 there").nth(4).waitFor()
      assert.strictEqual(await times.count(), 5)
      await dialog.getByText("More", { exact: true }).click()
      await dialog.getByLabel("Tokens of each run").fill("50000")
      assert.deepStrictEqual(await faultsOf(page), [])
      await picture(page, `automation-form-${at}`)
      await button(dialog, "Make the automation").click()
      const card = cardOf(page, name)
      await card.getByText("every day at 2:30 in Asia/Tokyo").waitFor()
      await card.getByText("It has not run yet.").waitFor()

      await button(card, "Change").click()
      await dialog.getByLabel("Expression").fill("61 2 * * *")
      await dialog.getByText(/The expression has the minute “?"?61/).waitFor()
      await picture(page, `automation-fault-${at}`)
      await dialog.getByLabel("Times", { exact: true }).selectOption({ label: "every working day at 9:00" })
      await dialog.getByText("09:00 there").nth(4).waitFor()
      await button(dialog, "Save").click()
      await card.getByText("every working day at 9:00 in Asia/Tokyo").waitFor()

      await button(card, "Run now").click()
      await succeeded(card).waitFor()
      assert.deepStrictEqual(await faultsOf(page), [])
      await picture(page, `automations-${at}`)
      const [made] = (await client.automations.list({ workspace_id })).items.filter((each) => each.name === name)
      assert.deepInclude(made, { budget: { run: { max_tokens: 50_000 } }, overlap: "skip", version: 2 })
      assert.deepInclude(made?.target, { message, harness: { provider_id: "alpha", model: "scripted-1" } })

      await button(card, "Pause").click()
      await card.getByText("paused: by hand").waitFor()
      await button(card, "Resume").click()
      await button(card, "Pause").waitFor()
      await succeeded(card).click()
      await page.getByText("I have looked.", { exact: true }).waitFor()
      assert.deepStrictEqual(
        complaints.filter((each) => !each.includes("422")),
        []
      )
    })

    it("a hook is made with its automation, shows its secret once, and its call begins a run", async () => {
      const { complaints, page } = await pageAt(size)
      const name = `Deployments ${at}`
      const dialog = await newOne(page, name)
      await dialog.getByLabel("when somebody calls").check()
      await dialog.getByLabel("Caller").selectOption("token")
      await button(dialog, "Make the automation").click()
      await dialog.getByText("shown this once").waitFor()
      await button(dialog, "Copy the address").waitFor()
      await button(dialog, "Copy the secret").waitFor()
      const [address = "", secret = ""] = await dialog.locator("code.block").allTextContents()
      assert.isTrue(address.startsWith(`${world.server.url}/api/hooks/`), address)
      assert.deepStrictEqual(await faultsOf(page), [])
      await picture(page, `automation-hook-${at}`)
      await button(dialog, "Done").click()
      const card = cardOf(page, name)
      await card.getByText("when its hook is called").waitFor()
      assert.notInclude(await page.content(), secret)

      const answer = await fetch(address, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ service: "shop", state: "failed" })
      })
      assert.strictEqual(answer.status, 202)
      await succeeded(card).waitFor()

      const hooks = page.getByRole("region", { name: "Hooks" })
      const hook = hooks
        .getByRole("listitem")
        .filter({ has: page.getByRole("heading", { name, exact: true, level: 3 }) })
      await button(hook, "What came in").click()
      await hook.getByText("accepted", { exact: true }).waitFor()
      await hook.getByText("1 run ·").waitFor()
      await button(hook, "Try").click()
      await hook.getByText("would begin a run.").waitFor()
      await hook.getByText("The data for the agent").click()
      await hook.getByText('{"service":"shop","state":"failed"}').waitFor()
      assert.deepStrictEqual(await faultsOf(page), [])
      await picture(page, `automation-try-${at}`)
      await button(hook, "Try").click()
      await button(hook, "Replay").click()
      await hook.getByText("1 run ·").waitFor()
      await button(hook, "Disable").click()
      await hook.getByText("disabled", { exact: true }).waitFor()
      await button(hook, "Enable").click()
      await button(hook, "New secret").click()
      await hook.getByText("shown this once").waitFor()
      assert.notInclude(await page.content(), secret)
      assert.deepStrictEqual(await faultsOf(page), [])
      await picture(page, `automation-hooks-${at}`)

      await button(card, "Change").click()
      await dialog.getByText(address, { exact: true }).waitFor()
      assert.strictEqual(await dialog.getByText(secret).count(), 0)
      await page.keyboard.press("Escape")
      await button(card, "Delete").click()
      await card.getByText("Delete it?").waitFor()
      await page.keyboard.press("Enter")
      await card.waitFor({ state: "detached" })
      assert.deepStrictEqual(complaints, [])
    })
  })

describe("the form of an automation", () => {
  it("names the field of a fault, and sends the message to a session that is there", async () => {
    const { client, page, workspace_id } = await pageAt(desk)
    const harness = { provider_id: "alpha", model: "scripted-1" }
    const session = await client.sessions.create({ workspace_id, harness, title: "The long one" })
    const dialog = await newOne(page, "Once")
    await dialog.getByLabel("a session that is there").check()
    await dialog.getByLabel("Session", { exact: true }).selectOption({ label: "The long one" })
    await dialog.getByLabel("once", { exact: true }).check()
    await dialog.getByLabel("Date and time").fill("2020-01-01T10:00")
    await button(dialog, "Make the automation").click()
    await dialog.locator(".field.wrong").getByText("This time has passed. Choose a later one.").waitFor()
    await picture(page, "automation-once")
    await dialog.getByLabel("Date and time").fill("2099-01-01T10:00")
    await button(dialog, "Make the automation").click()
    const card = cardOf(page, "Once")
    await card.getByText(/^once, on Thu 1 Jan 2099 at 10:00/).waitFor()
    await button(card, "Run now").click()
    await succeeded(card).waitFor()
    const [made] = (await client.automations.list({ workspace_id })).items.filter(({ name }) => name === "Once")
    assert.deepStrictEqual(made?.target, { kind: "session", session_id: session.id, message })
  })

  it("leaves everything as it is that it has no field for, and what is due stays due", async () => {
    const { client, page, workspace_id } = await pageAt(desk)
    const given = {
      trigger: { kind: "schedule", expression: "7 3 * * 2,4", timezone: "Europe/Berlin", jitter_seconds: 0 },
      target: {
        kind: "new_session",
        message,
        harness: { provider_id: "alpha", model: "scripted-1" },
        repository: { url: world.forge.url, base_ref: "main" },
        title: "Of each week",
        labels: { team: "web" },
        permissions: { default: "ask" }
      },
      missed: "skip",
      max_minutes: 7,
      overlap: "queue",
      budget: { total: { max_tokens: 9000 } }
    } as const
    const before = await client.automations.create({ workspace_id, name: "Weekly", ...given })
    const card = cardOf(page, "Weekly")
    await card.getByText("7 3 * * 2,4").waitFor()
    await button(card, "Change").click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("Twice a week")
    await button(dialog, "Save").click()
    await cardOf(page, "Twice a week").waitFor()
    const after = await client.automations.get({ automation_id: before.id })
    const { trigger, target, missed, max_minutes, overlap, budget } = after
    assert.deepStrictEqual<unknown>({ trigger, target, missed, max_minutes, overlap, budget }, given)
    assert.deepStrictEqual([after.name, after.next_run_at], ["Twice a week", before.next_run_at])
  })

  it("takes events with a label, a delivery, parallel runs and a limit of all runs together", async () => {
    const { client, page, workspace_id } = await pageAt(desk)
    await client.projects.create({
      workspace_id,
      name: "Shop",
      slug: "shop",
      spec: {
        repository: { url: "https://forge.example/team/shop", base_ref: "main" },
        harness: { provider_id: "alpha", model: "scripted-1" }
      }
    })
    await page.reload()
    const dialog = await newOne(page, "After failures")
    await dialog.getByLabel("when something happens here").check()
    await dialog.getByLabel("Event", { exact: true }).selectOption({ label: "a failed delivery" })
    await dialog.getByLabel("Label", { exact: true }).fill("kind=deps")
    await dialog.getByText("More", { exact: true }).click()
    await dialog.getByLabel("While the run before goes on, a new one").selectOption({ label: "begins beside it" })
    await dialog.getByLabel("What a run has changed").selectOption({ label: "goes to a merge request" })
    await dialog.getByLabel("Tokens of all runs together").fill("90000")
    await dialog.getByLabel("US dollars of all runs together").fill("2.5")
    assert.deepStrictEqual(await faultsOf(page), [])
    await picture(page, "automation-more")
    await button(dialog, "Make the automation").click()
    await dialog.getByText("have no repository").waitFor()
    await dialog.getByLabel("Project", { exact: true }).selectOption({ label: "Shop" })
    await button(dialog, "Make the automation").click()
    const card = cardOf(page, "After failures")
    await card.getByText("with a failed delivery").waitFor()
    const made = async () =>
      (await client.automations.list({ workspace_id })).items.find(({ name }) => name === "After failures")
    const expected = {
      trigger: { kind: "event", types: ["delivery.failed"], label: "kind=deps" },
      overlap: "parallel",
      deliver: { merge_request: {} },
      budget: { total: { max_tokens: 90_000, max_cost_usd: 2.5 } }
    } as const
    assert.deepInclude<unknown>(await made(), expected)

    // The form shows what it has, and takes it away again.
    await button(card, "Change").click()
    assert.strictEqual(await dialog.getByLabel("Label", { exact: true }).inputValue(), "kind=deps")
    await dialog.getByText("More", { exact: true }).click()
    assert.strictEqual(await dialog.getByLabel("Tokens of all runs together").inputValue(), "90000")
    await dialog.getByLabel("What a run has changed").selectOption({ label: "stays in its session" })
    await dialog.getByLabel("Tokens of all runs together").fill("")
    await dialog.getByLabel("US dollars of all runs together").fill("")
    await button(dialog, "Save").click()
    await dialog.waitFor({ state: "detached" })
    const { deliver, budget, trigger } = (await made()) ?? {}
    assert.deepStrictEqual<unknown>(
      { deliver, budget, trigger },
      { deliver: null, budget: null, trigger: expected.trigger }
    )
  })

  it("tells what the forge says of the registration of a hook", async () => {
    const { client, page, workspace_id } = await pageAt(desk)
    const base_url = new URL(world.forge.url).origin
    const connection = await client.connections.create({
      workspace_id,
      kind: "gitea",
      label: "forge",
      credential: { base_url, token: world.forgeToken }
    })
    const hook = await client.hooks.create({ workspace_id, kind: "gitea", label: "Registered" })
    const asked = { hook_id: hook.id, connection_id: connection.id, repository: world.forge.url }
    await client.hooks.register(asked)
    const card = page
      .getByRole("region", { name: "Hooks" })
      .getByRole("listitem")
      .filter({ has: page.getByRole("heading", { name: "Registered", exact: true, level: 3 }) })
    await card.getByText("On its forge: registered.").waitFor()
    await client.hooks.removeRegistration({ hook_id: hook.id })
    await eventually(
      "the forge to have forgotten it",
      async () => (await client.hooks.get({ hook_id: hook.id })).registration === null
    )
    await client.hooks.register({ ...asked, repository: world.forge.url.replace(/[^/]+\.git$/, "gone.git") })
    await card.getByText(/On its forge: failed\. \w+/).waitFor()
    assert.deepStrictEqual(await faultsOf(page), [])
    await picture(page, "automation-registration")
  })

  it("offers hooks to owners alone, and nothing to viewers", async () => {
    const { client, page, workspace_id } = await pageAt(desk)
    const email = "bob@example.com"
    newKey(world.place.dataDir, world.env, email)
    await client.workspaces.addMember({ workspace_id, email, role: "viewer" })
    const bob = await world.newPage(desk, { isStranger: true })
    await bob.goto(await linkFor(world.place.dataDir, email, "join"))
    await bob.getByRole("button", { name: /Join/ }).click()
    await bob.getByRole("heading", { name: "You are a member now" }).waitFor()
    await bob.goto(`${world.server.url}/ui`)
    await logIn(bob, { email, password })
    await bob.getByLabel("Workspace").selectOption(workspace_id)
    await bob.goto(`${world.server.url}/ui/automations`)
    await newOne(page, "Of the owner")
    await button(page.getByRole("dialog"), "Make the automation").click()
    const card = cardOf(bob, "Of the owner")
    await card.getByText("It has not run yet.").waitFor()
    assert.deepStrictEqual(await card.getByRole("button").allTextContents(), [])
    assert.strictEqual(await button(bob, "New automation").count(), 0)

    await client.workspaces.addMember({ workspace_id, email, role: "member" })
    await bob.reload()
    const dialog = await newOne(bob, "Of a member")
    await dialog.getByLabel("when somebody calls").check()
    await dialog.getByText("Owners manage the hooks of this workspace.").waitFor()
    await dialog.getByLabel("at times that come again").check()
    await button(dialog, "Make the automation").click()
    await button(cardOf(bob, "Of a member"), "Change").waitFor()
    assert.strictEqual(await button(card, "Change").count(), 0)
  })
})
