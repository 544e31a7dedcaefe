import { picture } from "@reins/testing/browser/Browser"
import type { Locator, Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import type { World } from "./World.js"

/** A way to use a page: with a mouse, with fingers, or with keys alone. */
export interface Hands {
  readonly name: string
  readonly press: (target: Locator) => Promise<void>
  readonly write: (target: Locator, text: string) => Promise<void>
  /** Changes a check box. */
  readonly toggle: (target: Locator) => Promise<void>
  /** Chooses the option of a list whose words begin so. */
  readonly choose: (target: Locator, value: string) => Promise<void>
}

const chooseAny: Hands["choose"] = async (target, value) => void (await target.selectOption(value))

/** A mouse, and a keyboard for words. */
export const mouse: Hands = {
  name: "mouse",
  press: (target) => target.click(),
  write: (target, text) => target.fill(text),
  toggle: (target) => target.click(),
  choose: chooseAny
}

/** Fingers. */
export const fingers: Hands = {
  name: "touch",
  press: (target) => target.tap(),
  write: async (target, text) => {
    await target.tap()
    await target.fill(text)
  },
  toggle: (target) => target.tap(),
  choose: chooseAny
}

/** Keys alone: Tab until the control has the focus, then Enter or the words. */
export const keys: Hands = {
  name: "keyboard",
  press: async (target) => {
    await reach(target)
    await target.page().keyboard.press("Enter")
  },
  write: async (target, text) => {
    await reach(target)
    await target.page().keyboard.press("Control+a")
    await target.page().keyboard.insertText(text)
  },
  toggle: async (target) => {
    await reach(target)
    await target.page().keyboard.press("Space")
  },
  choose: async (target, value) => {
    await reach(target)
    await target.page().keyboard.type(value)
  }
}

const most = 150

const reach = async (target: Locator): Promise<void> => {
  await target.waitFor()
  for (let pressed = 0; pressed < most; pressed++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await target.page().keyboard.press("Tab")
  }
  throw new Error(`${most} presses of Tab did not lead to ${target}`)
}

/** The person who makes the first account. */
export const ann = { email: "ann@example.com", password: "a quiet heron at noon" }

/** The work that the model is asked for. */
const work = script(
  "Write the sum.",
  { think: "A file will do.", tool: "write", path: "sum.js", content: "export const sum = (a, b) => a + b\n" },
  { say: "The sum is written." }
)

const shown = async (page: Page, hands: Hands, name: string) => picture(page, `journey-${hands.name}-${name}`)

/** From an empty server to a merged merge request. `enter` makes the account and comes in with it. */
export const mainJob = async (
  page: Page,
  hands: Hands,
  world: World,
  enter: (page: Page, hands: Hands) => Promise<void>
): Promise<void> => {
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" })
  const menu = async (name: string) => {
    if (await button(/^Menu/).isVisible()) await hands.press(button(/^Menu/))
    await hands.press(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }))
  }
  await enter(page, hands)
  await menu("Inbox")
  await page.getByText("There is no session yet.").waitFor()
  await shown(page, hands, "empty")

  await menu("First steps")
  await install(page, hands, world)
  await hands.write(page.getByLabel("Base URL"), world.place.gateway.url)
  await hands.write(page.getByLabel("API key"), "gateway-key")
  await hands.press(button("Create the connection"))
  await hands.press(button("Validate"))
  await page.getByText("validation passed").waitFor()
  await page.getByText("scripted-1").first().waitFor()
  await shown(page, hands, "first-steps")

  await menu("Connections")
  await hands.press(button("New connection"))
  const dialog = page.getByRole("dialog")
  await hands.choose(dialog.getByLabel("Kind"), "gitea")
  await hands.write(dialog.getByLabel("Base URL"), world.forge.base)
  await hands.write(dialog.getByLabel("Token"), world.forgeToken)
  await hands.press(button("Create the connection"))
  await page.getByRole("heading", { name: "gitea" }).waitFor()

  await menu("New session")
  await hands.write(page.getByLabel("Message"), work)
  await hands.write(page.getByLabel("Repository"), world.forge.url)
  await hands.write(page.getByLabel("Model"), "scripted-1")
  await hands.press(page.locator("summary", { hasText: "More" }))
  await hands.write(page.getByLabel("Title"), "Write the sum")
  await hands.press(button("Start the session"))
  await page.getByText("The sum is written.", { exact: true }).waitFor()
  await shown(page, hands, "session")
  await hands.press(page.getByRole("link", { name: "Review" }))
  await page.getByText("export const sum").waitFor()
  await shown(page, hands, "review")

  await hands.press(button("Deliver"))
  await hands.write(dialog.getByRole("textbox", { name: /^Branch/ }), "sum")
  await hands.toggle(dialog.getByLabel("Open a merge request"))
  await hands.press(dialog.getByRole("button", { name: "Deliver" }))
  await page.getByText("delivery succeeded").waitFor()
  await hands.press(button("Open a merge request"))
  await hands.write(dialog.getByLabel("Title"), "Add the sum")
  await hands.press(button("Open the merge request"))
  await page.getByText("merge request open").waitFor()
  await shown(page, hands, "merge-request")
  await hands.press(button("Merge into main …"))
  await dialog.getByText("1 of 1 not viewed").waitFor()
  await dialog.getByText("Target branch").waitFor()
  await shown(page, hands, "merge-asks")
  await hands.press(dialog.getByRole("button", { name: "Merge into main" }))
  await page.getByText("merge request merged").waitFor()
  await shown(page, hands, "merged")
  await menu("Inbox")
  await page.getByRole("region", { name: "Delivered" }).getByText("merge request merged").waitFor()
  await shown(page, hands, "inbox")
}

/** Installs the agent where none is there, and sees how far it is. The first of two packages stays unfinished until that was seen. */
const install = async (page: Page, hands: Hands, { registry }: World): Promise<void> => {
  const done = page.getByText(/ (?:is|are) installed\./)
  const first = page.getByRole("button", { name: /^Install / }).first()
  await done.or(first).first().waitFor()
  if (!(await first.isVisible())) return
  registry.held.add("agent")
  await hands.press(first)
  await page
    .getByRole("status")
    .getByText(/package 1 of 2 agent@1\.0\.0: \d+ B of \d+ B/)
    .waitFor()
  await shown(page, hands, "installing")
  registry.release()
  await done.waitFor()
}
