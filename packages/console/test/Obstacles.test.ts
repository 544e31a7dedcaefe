import { picture, watch } from "@reins/testing/browser/Browser"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** A review of what a command has done in the repository, and the delivery that the page has made of it. */
const blockedBy = async (cmd: string, size = desk) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { id: session_id } = await client.sessions.create({
    workspace_id: caller.workspaceId,
    harness,
    repository: { url: world.forge.url },
    message: script("Write.", { tool: "bash", cmd }, { say: "Written." })
  })
  const [turn] = (await client.turns.list({ session_id })).items
  await client.turns.wait({ turn_id: turn?.id ?? "" })
  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  const page = await world.loggedIn(`sessions/${session_id}/review/${changeset?.id}`, size)
  await page.getByRole("button", { name: "Deliver", exact: true }).click()
  const form = page.getByRole("dialog")
  await form.getByRole("button", { name: "Deliver", exact: true }).click()
  const card = page.getByRole("region", { name: /^Delivery as / })
  await card.getByText("delivery blocked", { exact: true }).waitFor()
  const delivery = async () => (await client.changesets.listDeliveries({ changeset_id: changeset?.id ?? "" })).items[0]
  return { page, card, delivery }
}

const isInside = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)

/** Reads the question, closes it by Escape, and then says yes to it. */
const deliverAnyway = async (
  { card, page }: Pick<Awaited<ReturnType<typeof blockedBy>>, "card" | "page">,
  { files, question }: { readonly question: RegExp; readonly files: string },
  name: string
) => {
  const button = card.getByRole("button", { name: "Deliver anyway" })
  const dialog = page.getByRole("dialog", { name: "Deliver anyway?" })
  await button.click()
  await dialog.getByText(question).waitFor()
  await dialog.getByText(files).waitFor()
  await picture(page, `${name}-question`)
  await page.keyboard.press("Escape")
  await dialog.waitFor({ state: "detached" })
  assert.isTrue(await button.evaluate((element) => element === document.activeElement), "the focus goes back")
  await button.click()
  await dialog.getByRole("button", { name: "Deliver anyway" }).click()
  await dialog.waitFor({ state: "detached" })
}

const lfs = "echo '*.bin filter=lfs -text' > .gitattributes; "
const crypt = "echo 'secret/** filter=git-crypt' >> .gitattributes; mkdir -p secret; echo key > secret/key; "

describe("a delivery with an obstacle", () => {
  it("says the files, asks before it delivers content that Git LFS should have, and delivers it", async () => {
    const { card, delivery, page } = await blockedBy(`${lfs}head -c 3000 /dev/zero > large.bin`)
    const { complaints } = watch(page)
    await card.getByText('"large.bin"').waitFor()
    assert.strictEqual(await card.getByRole("button", { name: "Retry" }).count(), 0)
    await picture(page, "obstacle-lfs-1280")
    await deliverAnyway(
      { card, page },
      { question: /repository grows by it/, files: '"large.bin"' },
      "obstacle-lfs-1280"
    )
    await card.getByText("delivery succeeded", { exact: true }).waitFor()
    await card.getByText("Deliver anyway").waitFor({ state: "detached" })
    assert.deepInclude(await delivery(), { state: "succeeded", allow: ["lfs_content"] })
    await picture(page, "obstacle-lfs-1280-delivered")
    assert.deepStrictEqual(complaints, [])
  })

  it("asks for one obstacle after the other, on a phone, and remembers what was allowed", async () => {
    const { card, delivery, page } = await blockedBy(`${lfs}${crypt}head -c 3000 /dev/zero > large.bin`, phone)
    await card.getByText('"secret/key"').waitFor()
    await picture(page, "obstacle-two-390")
    assert.isTrue(await isInside(page), "nothing is beside the page")
    await deliverAnyway(
      { card, page },
      { question: /keeps encrypted/, files: '"secret/key"' },
      "obstacle-encrypted-390"
    )
    await card.getByText('"large.bin"').waitFor()
    assert.deepInclude(await delivery(), { state: "blocked", reason: "lfs_content", allow: ["unencrypted_content"] })
    await deliverAnyway(
      { card, page },
      { question: /repository grows by it/, files: '"large.bin"' },
      "obstacle-lfs-390"
    )
    await card.getByText("delivery succeeded", { exact: true }).waitFor()
    assert.sameMembers([...((await delivery())?.allow ?? [])], ["unencrypted_content", "lfs_content"])
    await picture(page, "obstacle-two-390-delivered")
  })

  it("asks before names that differ by case alone, and content that another filter should have converted", async () => {
    const collision = await blockedBy("echo 1 > Notes.txt; echo 2 > notes.txt", phone)
    await picture(collision.page, "obstacle-names-390")
    await deliverAnyway(
      collision,
      { question: /checkout on macOS or Windows/, files: '"Notes.txt" beside "notes.txt"' },
      "obstacle-names-390"
    )
    await collision.card.getByText("delivery succeeded", { exact: true }).waitFor()

    const other = await blockedBy("echo '*.sql filter=indent' > .gitattributes; echo 'SELECT 1' > a.sql")
    await picture(other.page, "obstacle-filter-1280")
    await deliverAnyway(other, { question: /should have converted/, files: '"a.sql"' }, "obstacle-filter-1280")
    await other.card.getByText("delivery succeeded", { exact: true }).waitFor()
    assert.deepInclude(await other.delivery(), { allow: ["unfiltered_content"] })
  })
})
