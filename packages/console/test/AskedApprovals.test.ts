import { picture, watch } from "@reins/testing/browser/Browser"
import { askedApprovals, asksForAll } from "@reins/testing/harness/AskedApprovals"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()

describe("what an agent asks leave for", () => {
  for (const [name, size] of Object.entries({ desk, phone }))
    it(`is on the page of its session, with nothing that hides a part of it, at ${size.width} px`, async () => {
      const caller = await world.caller()
      const client = caller.at(world.server)
      const { id: session_id } = await client.sessions.create({
        workspace_id: caller.workspaceId,
        harness,
        permissions: { default: "ask" },
        message: asksForAll
      })
      const page = await world.loggedIn(`sessions/${session_id}`, size)
      const { complaints } = watch(page)
      let last: string | undefined
      for (const [at, { name: kind, shows }] of askedApprovals.entries()) {
        const { id, title } = await eventually("a question", async () => {
          const { items } = await client.interactions.list({ session_id, state: "pending" })
          return items.find(({ id }) => id !== last)
        })
        const question = page.locator(".question.pending")
        const shown = title.slice(0, 20).replace("\u202e", "\\u202e")
        await question.locator(".question-title", { hasText: shown }).waitFor()
        if (kind.includes("edit")) await question.getByRole("figure").waitFor()
        const text = await question.innerText()
        for (const each of shows) assert.include(text, each, kind)
        assert.notMatch(text, /[\u202e\u2066\u200b]/, kind)
        assert.isTrue(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), kind)
        await picture(page, `approval-${name}-${at}`)
        await client.interactions.answer({ interaction_id: id, answer: "once" })
        last = id
      }
      await page.getByText("Asked.", { exact: true }).waitFor()
      assert.deepStrictEqual(complaints, [])
    })
})
