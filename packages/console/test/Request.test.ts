import { picture, watch } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, beforeAll, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { lookNow, openRequest } from "./Requests.js"
import { desk, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** The id of the connection to the forge. */
let connection: string

const opened = (title: string, files: Readonly<Record<string, string>>) =>
  openRequest(world, { connection, files, title, url: world.forge.url })

beforeAll(async () => {
  const caller = await world.caller()
  const made = await caller.at(world.server).connections.create({
    workspace_id: caller.workspaceId,
    kind: "gitea",
    label: "forge",
    credential: { base_url: world.forge.base, token: world.forgeToken }
  })
  connection = made.id
})

describe("the page of a merge request", () => {
  for (const [at, size] of Object.entries({ desk, phone }))
    it(`shows what it waits for, live, and merges after a question, at ${size.width} px`, async () => {
      const { changeset_id, client, head, request, session_id } = await opened(`Write the sum on a ${at}`, {
        [`src/${at}.js`]: "export const sum = (a, b) => a + b\n"
      })
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const { complaints } = watch(page)
      const waits = page.getByRole("status").filter({ hasText: /way of a merge|waits for|not been read|merged/ })
      await waits.getByText("Nothing is in the way of a merge. No check has reported.").waitFor()
      await page.getByText("No check has reported on the head.").waitFor()
      await page.getByText("pushed by this session").waitFor()
      await page.getByText("Nobody has reviewed it on the forge.").waitFor()

      const { forge } = world.forge
      forge.check({ head, name: "build", state: "passed" })
      const test = forge.check({ head, name: "test", state: "failed" })
      forge.review({ author: "bob", state: "changes_requested", body: "The **sum** is wrong.", head })
      const thread = forge.comment({
        author: "cleo",
        body: "Why <script>alert(1)</script> `a + b`?",
        pull: request.number ?? 1,
        place: { path: `src/${at}.js`, line: 1, side: "new" },
        head
      })
      await lookNow(page)
      await waits
        .getByText(/^It waits for the failed check test, a reviewer who asks for changes and an open thread/)
        .waitFor()
      const checks = page.getByRole("region", { name: "Checks" })
      await checks.getByText("failing").waitFor()
      await checks.getByText("passing").waitFor()
      assert.deepStrictEqual(await checks.locator("li .state").allInnerTexts(), ["failing", "passing"])
      await page.getByRole("region", { name: "Reviews" }).locator("strong", { hasText: "sum" }).waitFor()
      await page.getByRole("region", { name: "Threads" }).getByText("<script>alert(1)</script>").waitFor()
      assert.deepStrictEqual(await findingsOf(page), [])
      await picture(page, `request-${at}-waiting`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.isAtMost(wide, 0)

      // The thread stands beside its line in the review.
      await page.getByText(`src/${at}.js:1`).waitFor()
      await page.getByRole("link", { name: "Show in the review" }).click()
      await page.waitForURL(`**/review/${changeset_id}**`)
      const beside = page.locator(".diff .thread")
      await beside.getByText("cleo").first().waitFor()
      assert.strictEqual(await beside.count(), 1)
      await picture(page, `request-${at}-review`)
      await page.goto(`${world.server.url}/ui`)
      const row = page
        .getByRole("region", { name: "Needs you" })
        .getByRole("link", { name: `Write the sum on a ${at}` })
      await row.getByText("1 failed check, changes requested, 1 open thread").waitFor()
      await picture(page, `request-${at}-inbox`)
      await row.click()

      // The page shows without a press what others do.
      test.state = "passed"
      thread.resolved = true
      forge.review({ author: "bob", state: "approved", head })
      await client.mergeRequests.look({ merge_request_id: request.id })
      await waits.getByText("Nothing is in the way of a merge.", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Merge into main …" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByText("1 of 1 not viewed").waitFor()
      await picture(page, `request-${at}-asks`)
      await dialog.getByRole("button", { name: "Merge into main" }).click()
      await waits.getByText("It is merged.").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: "Look now" }).count(), 0)
      await picture(page, `request-${at}-merged`)
      assert.deepStrictEqual(complaints, [])
      forge.reviews.length = 0
      forge.comments.length = 0
    })

  for (const [at, size] of Object.entries({ desk, phone }))
    it(`starts care, delivers its proposal after a question, and stops it, at ${size.width} px`, async () => {
      const title = `Care for the sum on a ${at}`
      const { client, head, request, session_id } = await opened(title, { [`${at}.txt`]: "wrong\n" })
      const { forge } = world.forge
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const { complaints } = watch(page)
      const care = page.getByRole("region", { name: "Care" })
      await care.getByText("Nobody cares for it.").waitFor()
      await care.getByRole("button", { name: "Start care" }).click()
      await care.getByLabel("Failed checks").selectOption("propose")
      await care.getByLabel("Turns at most").fill("3")
      await picture(page, `request-${at}-care-form`)
      await care.getByRole("button", { name: "Start", exact: true }).click()
      await care.getByText("The session proposes changes for failed checks. 0 of 3 turns used.").waitFor()

      const write = { tool: "write" as const, path: `${at}.txt`, content: "right\n" }
      forge.check({ head, name: "test", state: "failed", log: script("Red.", write, { say: "Mended." }) })
      await lookNow(page)
      await care.getByText("A change is proposed. Review it, then deliver it. 1 of 3 turns used.").waitFor()
      await page.getByText("Log of test").click()
      await page.locator(".check-log pre", { hasText: "Red." }).waitFor()
      assert.deepStrictEqual(await findingsOf(page), [])
      await picture(page, `request-${at}-care-proposed`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.isAtMost(wide, 0)
      await page.goto(`${world.server.url}/ui`)
      const row = page.getByRole("region", { name: "Needs you" }).getByRole("link", { name: title })
      await row.getByText("a change is proposed").waitFor()
      await row.click()
      await page.waitForURL(`**/sessions/${session_id}/request`)

      await care.getByRole("button", { name: "Deliver the proposal …" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Deliver the proposal" }).click()
      await care.getByText("done").waitFor()
      await care.getByText(/mended in [0-9a-f]{10}/).waitFor()
      assert.notStrictEqual(world.forge.headOf(request.head_branch), head)
      await client.mergeRequests.setConditions({ merge_request_id: request.id, approvals: 1, checks: "none" })
      await lookNow(page)
      await page.getByText("It is merged by itself, and waits for an approval of this commit.").waitFor()
      await care.getByRole("button", { name: "Stop care" }).click()
      await care.getByText("Care has ended. Somebody stopped it.").waitFor()
      await care.getByRole("button", { name: "Start care again" }).waitFor()
      await picture(page, `request-${at}-care-ended`)
      assert.deepStrictEqual(complaints, [])
    })

  it("tells a part that the forge does not show, keeps what was read, and says who pushed the head", async () => {
    const { head, request, session_id } = await opened("Write more", { "more.js": "more\n" })
    const { forge } = world.forge
    forge.check({ head, name: "lint", state: "passed" })
    const page = await world.loggedIn(`sessions/${session_id}/request`)
    await page.getByText("pushed by this session").waitFor()
    await lookNow(page)
    await page.getByText("lint").waitFor()
    forge.odd.forbidden = "/statuses"
    await lookNow(page)
    await page.getByText(/^It waits for checks that cannot be read\.$/).waitFor()
    await page.getByText(/^The checks cannot be read\. /).waitFor()
    const checks = page.getByRole("region", { name: "Checks" })
    await checks.getByText("not read").waitFor()
    await checks.getByText("lint").waitFor()
    await picture(page, "request-unread")
    forge.odd.forbidden = undefined
    world.forge.commitOn(request.head_branch, "theirs.txt", "theirs\n")
    await lookNow(page)
    await page.getByText("pushed by somebody else").waitFor()
    await page.getByText("No check has reported on the head.").waitFor()
    await page.getByRole("button", { name: "Merge into main …" }).click()
    await page.getByRole("dialog").getByText("Somebody else pushed this commit.").waitFor()
  })

  it("says that there is none yet, and what failed when it could not be read", async () => {
    const caller = await world.caller()
    const session = await caller.newSession(caller.at(world.server))
    const page = await world.loggedIn(`sessions/${session}/request`)
    await page.getByText("There is no merge request yet.").waitFor()
    await page.route("**/merge-requests*", (route) => route.fulfill({ status: 500, json: { error: {} } }))
    await page.reload()
    await page.getByRole("alert").first().waitFor()
    await page.unroute("**/merge-requests*")
    await page.getByRole("button", { name: "Try again" }).first().click()
    await page.getByText("There is no merge request yet.").waitFor()
  })
})
