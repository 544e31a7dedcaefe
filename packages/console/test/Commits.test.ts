import { watch } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { harness, worldForFile } from "./World.js"

const world = worldForFile()

describe("commits", () => {
  it("are offered on top of the branch that the session has delivered", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const write = (text: string) =>
      script("Write.", { tool: "bash", cmd: `echo ${text} > note.txt` }, { say: "Written." })
    const { id: connection_id } = await client.connections.create({
      workspace_id: caller.workspaceId,
      kind: "gitea",
      label: "forge of commits",
      credential: { base_url: world.forge.base, token: world.forgeToken }
    })
    const { id: session_id, turn_id } = await client.sessions.create({
      workspace_id: caller.workspaceId,
      harness,
      repository: { url: world.forge.url },
      message: write("one")
    })
    const newest = async (turn_id: string | undefined) => {
      await client.turns.wait({ turn_id: turn_id ?? assert.fail("no turn") })
      return (await client.sessions.listChangesets({ session_id })).items[0]?.id ?? assert.fail("no changeset")
    }
    const first = await client.changesets.deliver({ changeset_id: await newest(turn_id), connection_id })
    assert.strictEqual((await client.jobs.wait(first.operation)).state, "succeeded")
    const sent = await client.messages.send({ session_id, content: write("two") })
    const changeset_id = await newest(sent.turn_id)
    const page = await world.loggedIn(`sessions/${session_id}/review/${changeset_id}`)
    const { complaints } = watch(page)
    await page.getByRole("button", { name: "Deliver", exact: true }).click()
    const form = page.getByRole("dialog")
    await form.getByRole("radio", { name: `a commit on top of ${first.delivery.target_ref}` }).check()
    await form.getByRole("button", { name: "Deliver", exact: true }).click()
    await page.getByText("delivery succeeded", { exact: true }).waitFor()
    const [delivery] = (await client.changesets.listDeliveries({ changeset_id })).items
    assert.deepInclude(delivery, { onto: "head", target_ref: first.delivery.target_ref })
    assert.deepStrictEqual(complaints, [])
  })

  it("get their author on the page of the account, who takes it back there", async () => {
    const page = await world.loggedIn("account")
    await page.getByLabel("Name in commits").fill("Ann Miller")
    await page.getByRole("button", { name: "Save the name" }).click()
    await page.getByText(/as Ann Miller </).waitFor()
    await page.getByRole("button", { name: "Remove" }).click()
    await page.getByText("The service is the author of the commits that you ask for.").waitFor()
  })

  it("get their keys in the settings of the workspace", async () => {
    const page = await world.loggedIn("settings")
    const keys = page.getByRole("region", { name: "Signing keys" })
    await keys.getByRole("button", { name: "New signing key" }).click()
    await keys.getByText(/^SHA256:/).waitFor()
    await keys.getByText(/^ssh-ed25519 /).waitFor()
    await keys.getByRole("button", { name: "Delete" }).click()
    await keys.getByRole("group").getByRole("button").first().click()
    await keys.getByText(/^SHA256:/).waitFor({ state: "detached" })
  })
})
