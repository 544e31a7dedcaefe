import { picture, watch } from "@reins/testing/browser/Browser"
import type { Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import { findingsOf } from "./Axe.js"
import { lookNow, openRequest } from "./Requests.js"
import { desk, holds, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** The id of the connection to the forge. */
let connection: string

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

const opened = async (title: string) => {
  const files = { [`${title.replaceAll(/\W+/g, "-")}.txt`]: "ours\n" }
  const given = await openRequest(world, { connection, files, title, url: world.forge.url })
  const { forge } = world.forge
  const pull = forge.pulls.find(({ number }) => number === given.request.number) ?? assert.fail("no pull request")
  return { ...given, forge, path: Object.keys(files)[0] ?? "", pull }
}

/** Nothing scrolls sideways, and axe finds nothing. */
const isSound = async (page: Page): Promise<void> => {
  assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
  assert.deepStrictEqual(await findingsOf(page), [])
}

describe("what people say and ask for on the page of a merge request", () => {
  for (const [at, size] of Object.entries({ desk, phone }))
    it(`converts to a draft and back, and says why the forge refuses, at ${size.width} px`, async () => {
      const { client, forge, pull, request, session_id } = await opened(`Ready on a ${at}`)
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      await page.getByRole("button", { name: "Convert to draft" }).click()
      await page.getByRole("button", { name: "Mark as ready" }).waitFor()
      assert.isTrue(pull.draft)
      await page.getByText(/somebody who marks it as ready/).waitFor()
      await isSound(page)
      await picture(page, `request-${at}-draft`)

      forge.odd.forbidden = `/pulls/${pull.number}`
      await page.getByRole("button", { name: "Mark as ready" }).click()
      await page.getByRole("alert").waitFor()
      await isSound(page)
      await picture(page, `request-${at}-draft-refused`)
      assert.isTrue(pull.draft)
      forge.odd.forbidden = undefined

      // A wish that the forge has not heard yet is told to everybody.
      forge.odd.failing = `/pulls/${pull.number}`
      await client.mergeRequests.setReadiness({ merge_request_id: request.id, draft: false })
      await page.getByText("Becoming ready …").waitFor()
      assert.isTrue(await page.getByRole("button", { name: "Mark as ready" }).isDisabled())
      await picture(page, `request-${at}-becoming-ready`)
      forge.odd.failing = undefined
      await page.getByRole("button", { name: "Convert to draft" }).waitFor({ timeout: 60_000 })
      assert.isFalse(pull.draft)
    })

  for (const [at, size] of Object.entries({ desk, phone }))
    it(`answers in a thread and comments on the whole, and keeps what fails, at ${size.width} px`, async () => {
      const { forge, head, path, pull, session_id } = await opened(`Words on a ${at}`)
      forge.comment({
        pull: pull.number,
        author: "cleo",
        body: "Why not a float?",
        place: { path, line: 1, side: "new" },
        head
      })
      const page = await world.loggedIn(`sessions/${session_id}/request`, size)
      const { complaints } = watch(page)
      const threads = page.getByRole("region", { name: "Threads" })
      await lookNow(page)
      const thread = threads.locator(".thread")
      await thread.getByRole("button", { name: "Reply" }).click()
      const reply = thread.getByLabel("Your reply")
      await thread.getByRole("button", { name: "Reply" }).click()
      await thread.getByText("Write at least one word.").waitFor()
      assert.strictEqual(await reply.getAttribute("aria-invalid"), "true")
      await picture(page, `request-${at}-reply-blank`, true)

      forge.odd.forbidden = `/pulls/${pull.number}/reviews`
      await reply.fill("It is a **float** now.")
      await thread.getByRole("button", { name: "Reply" }).click()
      await thread.locator(".fault", { hasNotText: "at least one word" }).waitFor()
      assert.strictEqual(await reply.inputValue(), "It is a **float** now.")
      await isSound(page)
      await picture(page, `request-${at}-reply-refused`, true)
      forge.odd.forbidden = undefined
      await reply.press("Control+Enter")
      await thread.locator("strong", { hasText: "float" }).waitFor()
      await thread.getByText("2 comments").waitFor()
      await reply.waitFor({ state: "detached" })

      const whole = threads.getByLabel("Comment")
      await whole.fill("Thank you all.")
      await threads.getByRole("button", { name: "Comment" }).click()
      await threads.getByText("The merge request").waitFor()
      await threads.locator(".said").getByText("Thank you all.").waitFor()
      await holds(whole, "")
      assert.isFalse((await page.content()).includes("reins:"))
      assert.lengthOf(
        forge.comments.filter(({ body, pull: of }) => of === pull.number && body.includes("<!-- reins:")),
        2
      )
      await isSound(page)
      await picture(page, `request-${at}-replied`, true)
      assert.deepStrictEqual(
        complaints.filter((complaint) => !complaint.includes("422")),
        []
      )
    })
})
