import { picture, watch } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** A review with a delivered branch and an open merge request. */
const openMergeRequest = async (branch: string, size = desk) => {
  const caller = await world.caller()
  const client = caller.at(world.server)
  const { workspaceId: workspace_id } = caller
  const forge = await client.connections.create({
    workspace_id,
    kind: "gitea",
    label: `forge of ${branch}`,
    credential: { base_url: world.forge.base, token: world.forgeToken }
  })
  const write = { tool: "write", path: `${branch}.js`, content: "export const one = 1\n" }
  const other = { tool: "write", path: `${branch}.txt`, content: "one\n" }
  const { id: session_id } = await client.sessions.create({
    workspace_id,
    harness,
    title: `Write ${branch}`,
    repository: { url: world.forge.url },
    message: script("Write.", write, other, { say: "Written." })
  })
  const [turn] = (await client.turns.list({ session_id })).items
  await client.turns.wait({ turn_id: turn?.id ?? "" })
  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  const changeset_id = changeset?.id ?? ""
  const { delivery, operation } = await client.changesets.deliver({
    changeset_id,
    transport: "git_branch",
    connection_id: forge.id,
    target_ref: branch
  })
  await client.jobs.wait(operation)
  const opened = await client.deliveries.openMergeRequest({
    delivery_id: delivery.id,
    title: `Add ${branch}`,
    draft: false
  })
  await client.jobs.wait(opened.operation)
  const page = await world.loggedIn(`sessions/${session_id}/review/${changeset_id}`, size)
  const state = async () => (await client.mergeRequests.get({ merge_request_id: opened.merge_request.id })).state
  return { page, state, session_id, client }
}

describe("the console asks before it does what cannot be taken back", () => {
  for (const [name, size] of Object.entries({ desk, phone }))
    it(`merges only after a question that names branch, target, commit, files and comments, at ${size.width} px`, async () => {
      const { page, state } = await openMergeRequest(`sum-${name}`, size)
      const { complaints } = watch(page)
      await page.getByRole("checkbox", { name: "Viewed" }).first().check()
      await page.getByRole("button", { name: /^Comment on .*line 1$/ }).click()
      await page.getByLabel("Comment", { exact: true }).fill("Two would be better.")
      await page.getByRole("button", { name: "Add comment" }).click()
      const ask = page.getByRole("button", { name: "Merge into main …" })
      await ask.click()
      const dialog = page.getByRole("dialog", { name: "Merge into main?" })
      for (const words of ["1 of 2 not viewed", "1 comment not sent", `sum-${name}`, "Commit"])
        await dialog.getByText(words).first().waitFor()
      await picture(page, `asks-merge-${name}`)
      await dialog.getByRole("button", { name: "Cancel" }).click()
      await dialog.waitFor({ state: "detached" })
      assert.strictEqual(await state(), "open")
      await ask.click()
      await dialog.getByLabel("Method").selectOption("squash")
      await dialog.getByRole("button", { name: "Merge into main" }).click()
      await page.getByText("merge request merged").waitFor()
      assert.strictEqual(await state(), "merged")
      await page.getByRole("button", { name: "Deliver", exact: true }).click()
      await page.getByRole("dialog").getByText("1 comment not sent.").waitFor()
      assert.deepStrictEqual(complaints, [])
    })

  it("closes a session for good only after a question", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { id: session_id } = await client.sessions.create({
      workspace_id: caller.workspaceId,
      harness,
      title: "Old work"
    })
    const page = await world.loggedIn(`sessions/${session_id}`)
    const menu = page.locator("summary", { hasText: "Session" })
    const close = page.getByRole("button", { name: "Close for good …" })
    const dialog = page.getByRole("dialog", { name: "Close this session for good?" })
    await menu.click()
    await close.click()
    await dialog.getByText("Old work").waitFor()
    await picture(page, "asks-close")
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    assert.strictEqual((await client.sessions.get({ session_id })).lifecycle, "open")
    // The menu has closed with the choice.
    await menu.click()
    await close.click()
    await dialog.getByRole("button", { name: "Close for good", exact: true }).click()
    await page.locator(".session-head").getByText("closed").waitFor()
    assert.strictEqual((await client.sessions.get({ session_id })).lifecycle, "closed")
  })
})
