import { picture, watch } from "@reins/testing/browser/Browser"
import { remote, token } from "@reins/testing/changes/Fixture"
import { Effect, Exit, Scope } from "effect"
import type { Locator, Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { lookNow, openRequest } from "./Requests.js"
import { desk, holds, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** A forge that can begin checks anew. That of the world cannot. */
let github: Effect.Effect.Success<ReturnType<typeof remote>>
const scope = Effect.runSync(Scope.make())

/** The ids of the connections to both. */
const connections = { gitea: "", github: "" }

beforeAll(async () => {
  github = await Effect.runPromise(Scope.extend(remote("github"), scope))
  const caller = await world.caller()
  for (const kind of ["gitea", "github"] as const) {
    const { base } = kind === "gitea" ? world.forge : github
    const made = await caller.at(world.server).connections.create({
      workspace_id: caller.workspaceId,
      kind,
      label: kind,
      credential: { base_url: base, token }
    })
    connections[kind] = made.id
  }
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const opened = (title: string, kind: "gitea" | "github" = "gitea") =>
  openRequest(world, {
    title,
    files: { [`${title.replaceAll(/\W+/g, "-")}.txt`]: "ours\n" },
    url: (kind === "gitea" ? world.forge : github).url,
    connection: connections[kind]
  })

/** Presses a button with the keyboard. */
const press = async (button: Locator): Promise<void> => {
  await button.focus()
  await button.press("Enter")
}

/** Nothing scrolls sideways, and axe finds nothing. */
const isSound = async (page: Page): Promise<void> => {
  assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
  assert.deepStrictEqual(await findingsOf(page), [])
}

describe("the actions on the page of a merge request", () => {
  for (const [at, size] of Object.entries({ desk, phone }))
    it(`sets conditions by keyboard after a question, and takes them back, at ${size.width} px`, async () => {
      const { client, request, session_id } = await opened(`Conditions on a ${at}`)
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const section = page.getByRole("region", { name: "Merge conditions" })
      await section.getByText("A person merges it. No condition is set.").waitFor()
      await press(section.getByRole("button", { name: "Set conditions" }))
      await section.getByLabel("Passing checks").selectOption("none")
      await section.getByLabel("Approvals").fill("2")
      await section.getByLabel("Verdict").selectOption("member")
      await section.getByLabel("Give up after, in hours").fill("12")
      await section.getByLabel("All threads are resolved").press("Space")
      await isSound(page)
      await picture(page, `request-${at}-conditions-form`, true)

      // A refusal stands in the form, which keeps what was filled in.
      const error = { code: "forbidden", category: "access", message: "No.", retryable: false, details: {} }
      await page.route("**/merge-conditions", (route) =>
        route.fulfill({ status: 403, json: { error: { ...error, request_id: "req_1" } } })
      )
      await press(section.getByRole("button", { name: "Set conditions …" }))
      const dialog = page.getByRole("dialog", { name: "Merge into main by itself?" })
      await picture(page, `request-${at}-conditions-asks`)
      await press(dialog.getByRole("button", { name: "Set conditions" }))
      await section.getByRole("alert").waitFor()
      await holds(section.getByLabel("Approvals"), "2")
      await holds(section.getByLabel("Verdict"), "member")
      await page.unroute("**/merge-conditions")
      await press(section.getByRole("button", { name: "Set conditions …" }))
      await press(dialog.getByRole("button", { name: "Set conditions" }))

      await section.getByText("2 people on the forge").waitFor()
      await page.getByText(/^It is merged by itself, and waits for 2 approvals of this commit/).waitFor()
      const { conditions } = await client.mergeRequests.get({ merge_request_id: request.id })
      assert.deepInclude(conditions, {
        checks: "none",
        approvals: 2,
        threads_resolved: false,
        verdict: { from: "member", digest: null },
        max_wait_seconds: 12 * 3600
      })
      await isSound(page)
      await picture(page, `request-${at}-conditions`, true)
      await section.getByRole("button", { name: "Change conditions" }).click()
      await holds(section.getByLabel("Give up after, in hours"), "12")
      await section.getByRole("button", { name: "Cancel" }).click()
      await press(section.getByRole("button", { name: "Remove conditions" }))
      await section.getByText("A person merges it. No condition is set.").waitFor()
      assert.isNull((await client.mergeRequests.get({ merge_request_id: request.id })).conditions)
    })

  for (const [at, size] of Object.entries({ desk, phone }))
    it(`gives verdicts on the changeset's digest, and asks before one that merges, at ${size.width} px`, async () => {
      const { changeset_id, client, request, session_id } = await opened(`Verdicts on a ${at}`)
      const { subject_digest } = await client.changesets.get({ changeset_id })
      await client.mergeRequests.setConditions({
        merge_request_id: request.id,
        checks: "none",
        verdict: { from: "member" }
      })
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const { complaints } = watch(page)
      const section = page.getByRole("region", { name: "Verdicts" })
      await section.getByText("Nobody has judged it in Reins.").waitFor()
      await page.getByText("It is merged by itself, and waits for the approval of a member in Reins.").waitFor()
      await section.getByLabel("Your verdict").selectOption("reject")
      await section.getByLabel("Reason").fill("The **sum** is wrong.")
      await press(section.getByRole("button", { name: "Give verdict" }))
      await section.getByText("rejected").waitFor()
      await section.locator("strong", { hasText: "sum" }).waitFor()
      await page.getByText(/another changeset, because this one was rejected/).waitFor()
      await holds(section.getByLabel("Reason"), "")
      await isSound(page)
      await picture(page, `request-${at}-verdict`, true)

      await press(section.getByRole("button", { name: "Give verdict" }))
      const dialog = page.getByRole("dialog", { name: "Approve this changeset?" })
      await picture(page, `request-${at}-verdict-asks`)
      await press(dialog.getByRole("button", { name: "Approve" }))
      await section.getByText("approved").waitFor()
      await page.getByText("It is merged.").waitFor()
      assert.strictEqual(await section.getByRole("button", { name: "Give verdict" }).count(), 0)
      const { items } = await client.changesets.listVerdicts({ changeset_id })
      assert.deepStrictEqual(
        items.map((each) => [each.verdict, each.subject_digest]),
        [
          ["approve", subject_digest],
          ["reject", subject_digest]
        ]
      )
      assert.deepStrictEqual(complaints, [])
    })

  for (const [at, size] of Object.entries({ desk, phone }))
    it(`begins a failed check anew, where the forge can do that, at ${size.width} px`, async () => {
      const { head, session_id } = await opened(`Runs on a ${at}`, "github")
      github.forge.check({ head, name: "test", state: "failed", log: "red" })
      github.forge.check({ head, name: "lint", state: "passed" })
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      await lookNow(page)
      const checks = page.getByRole("region", { name: "Checks" })
      const again = checks.getByRole("button", { name: "Run again: test" })
      await again.waitFor()
      assert.strictEqual(await checks.getByRole("button").count(), 1)
      await isSound(page)
      await picture(page, `request-${at}-rerun`, true)
      await press(again)
      await checks.getByText("pending").waitFor()
      await again.waitFor({ state: "detached" })
      const runs = github.forge.checks.filter((check) => check.head === head && check.name === "test")
      assert.deepStrictEqual(
        runs.map(({ state }) => state),
        ["failed", "pending"]
      )

      const other = await opened(`No runs on a ${at}`)
      for (const name of ["build", "test"]) world.forge.forge.check({ head: other.head, name, state: "failed" })
      await page.goto(`${world.server.url}/ui/sessions/${other.session_id}/request`)
      await lookNow(page)
      await press(checks.getByRole("button", { name: "Run again: build" }))
      await checks
        .getByText(/gitea cannot be asked to run a check again/)
        .first()
        .waitFor()
      await checks
        .getByRole("button", { name: /^Run again/ })
        .first()
        .waitFor({ state: "detached" })
      await isSound(page)
      await picture(page, `request-${at}-rerun-refused`, true)
    })

  for (const [at, size] of Object.entries({ desk, phone }))
    it(`has the changes of every turn delivered, by keyboard, at ${size.width} px`, async () => {
      const { client, request, session_id } = await opened(`Every turn on a ${at}`)
      const { id: merge_request_id } = request
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const care = page.getByRole("region", { name: "Care" })
      await press(care.getByRole("button", { name: "Start care" }))
      await care.getByLabel("Failed checks").selectOption("off")
      await care.getByLabel("Deliver").selectOption({ label: "Every turn" })
      await isSound(page)
      await picture(page, `request-${at}-every-turn-form`, true)
      await press(care.getByRole("button", { name: "Start" }))
      await care.getByText("The session pushes the changes of every turn.").waitFor()
      assert.deepInclude(await client.care.get({ merge_request_id }), { deliver: "every_turn", checks: "off" })
      const content = script(
        "Write.",
        { tool: "write", path: `every-${at}.txt`, content: "new\n" },
        { say: "Written." }
      )
      await client.messages.send({ session_id, content })
      await care.getByText("done").waitFor()
      const [attention] = (await client.care.listAttentions({ merge_request_id })).items
      await care.getByText(`changes of the session after ${attention?.head_sha.slice(0, 10)}`).waitFor()
      await care.getByText(attention?.commit?.slice(0, 10) ?? "no commit").waitFor()
      await isSound(page)
      await picture(page, `request-${at}-every-turn`, true)
      await press(care.getByRole("button", { name: "Change care" }))
      await holds(care.getByLabel("Deliver"), "every_turn")
    })

  for (const [at, size] of Object.entries({ desk, phone }))
    it(`leads from the history of care to the turn in the conversation, at ${size.width} px`, async () => {
      const { client, head, request, session_id } = await opened(`Turns on a ${at}`)
      const { id: merge_request_id } = request
      await client.care.start({ merge_request_id, checks: "fix", rerun_first: false })
      const log = script("Red.", { tool: "write", path: `mended-${at}.txt`, content: "right\n" }, { say: "Mended." })
      world.forge.forge.check({ head, name: "test", state: "failed", log })
      await client.mergeRequests.look({ merge_request_id })
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const care = page.getByRole("region", { name: "Care" })
      await care.getByText("done").waitFor()
      // More is said afterwards than a page shows.
      const lines = Array.from({ length: 200 }, (_, index) => `Line ${index}.`).join("\n\n")
      const { turn_id } = await client.messages.send({ session_id, content: script("Go on.", { say: lines }) })
      await client.turns.wait({ turn_id: turn_id ?? "" })
      await care.getByRole("link", { name: "Turn" }).click()
      await page.waitForURL(/\/sessions\/[^/]+#msg_/)
      const message = page.getByText("needs work before it can be merged").first()
      await message.waitFor()
      await page.waitForFunction(
        (element) => {
          const { top } = element?.getBoundingClientRect() ?? { top: -1 }
          return top >= 0 && top < innerHeight
        },
        await message.elementHandle()
      )
      await picture(page, `request-${at}-turn`)
    })
})
