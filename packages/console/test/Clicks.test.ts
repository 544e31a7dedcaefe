import { picture, watch } from "@reins/testing/browser/Browser"
import { reins } from "@reins/testing/process/ServerProcess"
import type { Locator, Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { ann } from "./Journey.js"
import { desk, emptyWorldForEachTest, phone, type Size } from "./World.js"

const world = emptyWorldForEachTest()

/** The most clicks and fields from the link to merged work. */
const [mostClicks, mostFields] = [8, 5]

/** A person, whose clicks and typed fields are counted. */
const counted = () => {
  const done: Array<string> = []
  const count = (verb: "click" | "type") => done.filter((each) => each.startsWith(verb)).length
  return {
    done,
    click: async (target: Locator) => {
      await target.click()
      done.push(`click ${target}`)
    },
    type: async (target: Locator, text: string) => {
      // Who reaches a field with Tab or finds the focus there clicks on nothing.
      await target.focus()
      await target.page().keyboard.insertText(text)
      done.push(`type ${target}`)
    },
    get clicks() {
      return count("click")
    },
    get fields() {
      return count("type")
    }
  }
}

const work = script(
  "Write the sum.",
  { tool: "write", path: "sum.js", content: "export const sum = (a, b) => a + b\n" },
  { say: "The sum is written." }
)

/** The link of the operator, who knows the address of the person and of the gateway. */
const setupLink = (): string => {
  const filled = ["--email", ann.email, "--gateway", world.place.gateway.url]
  const env = { ...world.env, REINS_PUBLIC_URL: world.server.url }
  const { stderr, stdout } = reins(world.place.dataDir, ["accounts", "first", ...filled], env)
  assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/ui#setup=[0-9A-Z-]{19}&email=\S+&gateway=\S+\n$/, stderr)
  return stdout.trim()
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

const toMerged = async (page: Page, at: string) => {
  const person = counted()
  const dialog = page.getByRole("dialog")
  await page.goto(setupLink())
  assert.strictEqual(await page.getByLabel("E-mail address").inputValue(), ann.email)
  await person.type(page.getByLabel("Password"), ann.password)
  await person.click(button(page, "Create the account"))

  await person.type(page.getByLabel("API key"), "gateway-key")
  await person.click(button(page, "Create the connection"))
  await page.getByText("validation passed").waitFor()

  await person.type(page.getByLabel("Message", { exact: true }), work)
  await person.type(page.getByLabel("Repository"), world.forge.url)
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[name=model]")?.value === "scripted-1")
  await picture(page, `clicks-first-session-${at}`)
  await person.click(button(page, "Start the session"))
  await person.click(page.getByRole("link", { name: "Review" }))

  await person.click(button(page, "Deliver"))
  await person.type(dialog.getByLabel("Token"), world.forgeToken)
  await picture(page, `clicks-deliver-${at}`)
  await person.click(dialog.getByRole("button", { name: "Deliver" }))
  await person.click(button(page, "Merge into main …"))
  await person.click(dialog.getByRole("button", { name: "Merge into main" }))
  await page.getByText("merge request merged").waitFor()
  await picture(page, `clicks-merged-${at}`)
  return person
}

const sizes: Readonly<Record<string, Size>> = { desk, phone }

describe("the way from the setup link to merged work", () => {
  for (const [at, size] of Object.entries(sizes))
    it(`takes at most ${mostClicks} clicks and ${mostFields} typed fields at ${size.width} px, and leads to no other page`, async () => {
      await world.start("small")
      const page = await world.newPage(size)
      const { complaints } = watch(page)
      const { clicks, done, fields } = await toMerged(page, at)
      assert.isAtMost(clicks, mostClicks, done.join("\n"))
      assert.isAtMost(fields, mostFields, done.join("\n"))
      assert.deepStrictEqual(
        world.forge.forge.pulls.map(({ base, title }) => [base, title.slice(0, 14)]),
        [["main", "Write the sum."]]
      )
      assert.include(world.forge.git("show", "main:sum.js"), "export const sum")
      assert.deepStrictEqual(complaints, [])
    })
})
