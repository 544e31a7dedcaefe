import { watch } from "@reins/testing/browser/Browser"
import { linkFor } from "@reins/testing/process/Outbox"
import { reins } from "@reins/testing/process/ServerProcess"
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import { ann, fingers, type Hands, keys, mainJob, mouse } from "./Journey.js"
import { type Agents, desk, emptyWorldForEachTest, phone, type Size } from "./World.js"

const world = emptyWorldForEachTest()

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

/** Makes the first account with the link that the machine of the server prints, and no mail. */
const bySetupLink = async (page: Page, hands: Hands): Promise<void> => {
  const { stderr, stdout } = reins(world.place.dataDir, ["accounts", "first"], {
    ...world.env,
    REINS_PUBLIC_URL: world.server.url
  })
  assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/ui#setup=[0-9A-Z-]{19}\n$/, stderr)
  await page.goto(stdout.trim())
  await hands.write(page.getByLabel("Name"), "Ann")
  assert.match(await page.getByLabel("Setup code").inputValue(), /^[0-9A-Z-]{19}$/)
  assert.strictEqual(page.url(), `${world.server.url}/ui`)
  await hands.write(page.getByLabel("E-mail address"), ann.email)
  await hands.write(page.getByLabel("Password"), ann.password)
  await hands.press(button(page, "Create the account"))
  await page.getByRole("heading", { name: "First steps" }).waitFor()
}

/** Makes an account with the link of a mail, which is opened as in another tab. */
const byMail = async (page: Page, hands: Hands): Promise<void> => {
  await page.goto(`${world.server.url}/`)
  await hands.press(button(page, "Create an account"))
  await hands.write(page.getByLabel("Name"), "Ann")
  await hands.write(page.getByLabel("E-mail address"), ann.email)
  await hands.write(page.getByLabel("Password"), ann.password)
  await hands.press(button(page, "Create the account"))
  await page.getByRole("heading", { name: "Check your mail" }).waitFor()
  const mail = await page.context().newPage()
  await mail.goto(await linkFor(world.place.dataDir, ann.email, "verify"))
  await mail.getByRole("button", { name: "Verify my address" }).click()
  await mail.getByRole("heading", { name: "Your address is verified" }).waitFor()
  await mail.close()
  await hands.press(button(page, "Log in"))
  await hands.write(page.getByLabel("Password"), ann.password)
  await hands.press(button(page, "Log in"))
  await page.getByRole("heading", { name: "Inbox" }).waitFor()
}

const ways: ReadonlyArray<{
  readonly hands: Hands
  readonly size: Size
  readonly agents: Agents
  readonly enter: (page: Page, hands: Hands) => Promise<void>
}> = [
  { hands: mouse, size: desk, agents: "real", enter: bySetupLink },
  { hands: keys, size: desk, agents: "to_install", enter: bySetupLink },
  { hands: fingers, size: phone, agents: "to_install", enter: byMail }
]

describe("the main job in the console, from an empty server to a merged merge request", () => {
  for (const { agents, enter, hands, size } of ways)
    it(`by ${hands.name} at ${size.width} px, with an agent that is ${agents === "real" ? "real" : "installed from the page"}`, async () => {
      await world.start(agents)
      const page = await world.newPage(size, { hasTouch: hands === fingers })
      const { complaints, requests } = watch(page)
      await mainJob(page, hands, world, enter)
      assert.deepStrictEqual(
        world.forge.forge.pulls.map(({ base, head, title }) => ({ base, head, title })),
        [{ base: "main", head: "sum", title: "Add the sum" }]
      )
      assert.include(world.forge.git("show", "main:sum.js"), "export const sum")
      const origins = new Set(requests.map((url) => new URL(url).origin))
      assert.deepStrictEqual([...origins], [world.server.url])
      assert.deepStrictEqual(complaints, [])
    })
})
