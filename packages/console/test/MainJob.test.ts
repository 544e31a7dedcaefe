import { watch } from "@reins/testing/browser/Browser"
import { linkFor } from "@reins/testing/process/Outbox"
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import { fingers, type Hands, keys, mainJob, mouse } from "./Journey.js"
import { desk, phone, type Size, worldForEachTest } from "./World.js"

const world = worldForEachTest()

/** Opens the link of the mail, as in another tab. */
const verify = (page: Page) => async (email: string) => {
  const mail = await page.context().newPage()
  await mail.goto(await linkFor(world.place.dataDir, email, "verify"))
  await mail.getByRole("button", { name: "Verify my address" }).click()
  await mail.getByRole("heading", { name: "Your address is verified" }).waitFor()
  await mail.close()
}

const ways: ReadonlyArray<{ readonly hands: Hands; readonly size: Size }> = [
  { hands: mouse, size: desk },
  { hands: keys, size: desk },
  { hands: fingers, size: phone }
]

describe("the main job in the console, from an empty server to a merge request", () => {
  for (const { hands, size } of ways)
    it(`by ${hands.name} at ${size.width} px`, async () => {
      const page = await world.newPage(size, hands === fingers)
      const { complaints, requests } = watch(page)
      await mainJob(page, hands, world, verify(page))
      assert.deepStrictEqual(
        world.forge.forge.pulls.map(({ base, head, title }) => ({ base, head, title })),
        [{ base: "main", head: "sum", title: "Add the sum" }]
      )
      assert.include(world.forge.git("show", "sum:src/sum.js"), "export const sum")
      const origins = new Set(requests.map((url) => new URL(url).origin))
      assert.deepStrictEqual([...origins], [world.server.url])
      assert.deepStrictEqual(complaints, [])
    })
})
