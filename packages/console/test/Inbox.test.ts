import { picture } from "@reins/testing/browser/Browser"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { desk, harness, phone, worldForFile } from "./World.js"

const world = worldForFile()

/** More sessions than the page reads at first. */
const many = 510

describe("the inbox", () => {
  it("shows the question of the oldest of many sessions, in few requests and with few elements", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { workspaceId: workspace_id } = caller
    const oldest = await client.sessions.create({
      ...{ workspace_id, harness, title: "The oldest", permissions: { default: "ask" } },
      message: script("Clean.", { tool: "bash", cmd: "echo cleaned" }, { say: "Cleaned." })
    })
    for await (const { type } of client.sessions.stream({ session_id: oldest.id, after: 0 }))
      if (type === "turn.action_required") break
    for (let made = 0; made < many; made += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          client.sessions.create({ workspace_id, harness, title: `Session ${made + at}` })
        )
      )
    // The worker of the page asks, so that its requests are those of the context.
    const requests: Array<string> = []
    world.context.on("request", (request) => {
      if (/\/work\?|\/interactions\?|\/events\?/.test(request.url())) requests.push(request.url())
    })
    const shown = await world.loggedIn("", desk)
    const question = shown.getByRole("complementary", { name: "Waiting for your answer" })
    await question.getByText("echo cleaned").waitFor()
    await shown.getByRole("region", { name: "Needs you" }).getByText("The oldest").waitFor()
    await shown.waitForFunction(() => document.title.startsWith("(1) "))
    const quiet = shown.getByRole("region", { name: "Quiet" })
    await quiet.getByRole("button", { name: /^Show 25 more of / }).click()
    assert.strictEqual(await quiet.getByRole("listitem").count(), 50)
    assert.isBelow(await shown.locator("*").count(), 1500)
    assert.isAtMost(requests.filter((url) => url.includes("/work?")).length, 4, requests.join("\n"))
    await picture(shown, "inbox-many")
    await client.sessions.close({ session_id: oldest.id })
    await shown.getByRole("region", { name: "Needs you" }).waitFor({ state: "detached" })
  })

  it("says what is new to a person until the person has looked, and keeps what was archived", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { id: session_id } = await client.sessions.create({
      ...{ workspace_id: caller.workspaceId, harness, title: "Count the lines" },
      message: script("Count.", { say: "There are twelve." })
    })
    for await (const { type } of client.sessions.stream({ session_id, after: 0 })) if (type === "turn.succeeded") break
    const page = await world.loggedIn("", phone)
    const row = page.getByRole("link", { name: /Count the lines/ })
    await row.getByText("new", { exact: true }).waitFor()
    const other = await page.context().newPage()
    await other.goto(`${world.server.url}/ui`)
    await other
      .getByRole("link", { name: /Count the lines/ })
      .getByText("new", { exact: true })
      .waitFor()
    await row.click()
    await page.getByText("There are twelve.", { exact: true }).waitFor()
    // The other window is told as well.
    await other
      .getByRole("link", { name: /Count the lines/ })
      .getByText("new", { exact: true })
      .waitFor({ state: "detached" })
    const { counts } = await client.workspaces.listWork({ workspace_id: caller.workspaceId, session_ids: session_id })
    assert.strictEqual(counts.unread, 0)
    await client.sessions.archive({ session_id })
    await other.getByRole("link", { name: /Count the lines/ }).waitFor({ state: "detached" })
    await other.getByText("Archived and closed sessions").click()
    await other.getByRole("region", { name: "Archived and closed" }).getByText("Count the lines").waitFor()
    await picture(other, "inbox-archived-phone")
  })
})
