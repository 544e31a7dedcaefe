import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { picture } from "@reins/testing/browser/Browser"
import { startServer } from "@reins/testing/process/ServerProcess"
import type { Page } from "playwright-core"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { harness, logIn, worldForFile } from "./World.js"

const world = worldForFile()

/** Scrolls a list from its top to its end and back, and gives the most elements that it held at once. The cost of a frame goes by them. */
const mostElements = async (page: Page, label: string): Promise<number> => {
  const list = page.getByRole("region", { name: label, exact: true })
  const steps = 60
  const parts = [...Array(steps + 1).keys()].map((step) => step / steps)
  let most = 0
  for (const part of [...parts, ...parts.toReversed()]) {
    const count = await list.evaluate(async (element, to) => {
      element.scrollTop = to * element.scrollHeight
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      return element.querySelectorAll("*").length
    }, part)
    most = Math.max(most, count)
  }
  return most
}

/** Fills the log of a session with copies of its last tool call, while no server runs. */
const fillLog = (dataDir: string, session_id: string, wanted: number): void => {
  const db = openSqlite(join(dataDir, "reins.db"))
  const { event_watermark: last } = db.prepare("select event_watermark from sessions where id = ?").get(session_id) as {
    event_watermark: number
  }
  const row = db
    .prepare("select * from events where session_id = ? and type = 'tool.completed' order by seq desc limit 1")
    .get(session_id) as Record<string, string | number | null>
  const names = Object.keys(row)
  const insert = db.prepare(
    `insert into events (${names.join(", ")}) values (${names.map((name) => `@${name}`).join(", ")})`
  )
  db.transaction(() => {
    for (let seq = last + 1; seq <= wanted; seq++) {
      const id = `${String(row["id"]).slice(0, -6)}${String(seq).padStart(6, "0")}`
      const envelope = JSON.parse(String(row["envelope"]))
      const payload = { ...envelope.payload, tool_id: `call_${seq}`, input: { command: `echo ${seq}` } }
      insert.run({ ...row, id, seq, envelope: JSON.stringify({ ...envelope, id, seq, payload }) })
    }
    db.prepare("update sessions set event_watermark = ? where id = ?").run(wanted, session_id)
  })()
  db.close()
}

describe("the console with much to show", () => {
  it("scrolls a session of 10,000 events with a page of them in the document, and loads at most 150 kB", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const session = await caller.newSession(client)
    await client
      .run({ session_id: session, content: script("Work.", { tool: "bash", cmd: "echo 1" }, { say: "Done." }) })
      .final()
    const { port } = new URL(world.server.url)
    world.server.kill("SIGTERM")
    await world.server.ended
    fillLog(world.place.dataDir, session, 10_000)
    await startServer({ dataDir: world.place.dataDir, env: world.env, args: ["--port", port] })

    const page = await world.newPage()
    const loaded = new Map<string, number>()
    page.on("response", async (response) => {
      const path = new URL(response.url()).pathname
      if (path.startsWith("/ui")) loaded.set(path, gzipSync(await response.body()).length)
    })
    await page.goto(`${world.server.url}/ui/sessions/${session}/events`)
    await logIn(page)
    await page.getByText("10,000 events").waitFor()
    assert.isBelow(await mostElements(page, "Events"), 1000)
    await page.getByRole("link", { name: "Conversation" }).click()
    await page
      .getByRole("button", { name: /^Worked for .*, [\d,]+ steps$/ })
      .last()
      .click()
    await page.getByText("echo 10000", { exact: true }).waitFor()
    await picture(page, "volume-conversation")
    assert.isBelow(await mostElements(page, "Conversation"), 1000)
    const bytes = [...loaded.values()].reduce((sum, size) => sum + size, 0)
    assert.isAtLeast(loaded.size, 3, [...loaded.keys()].join(" "))
    assert.isAtMost(bytes, 150_000)
  })

  it("scrolls a diff of 5,000 lines with a page of them in the document, unified and split, and keeps comments and what was viewed", async () => {
    const caller = await world.caller()
    const client = caller.at(world.server)
    const { id: session_id } = await client.sessions.create({
      workspace_id: caller.workspaceId,
      harness,
      repository: { url: world.forge.url },
      message: script(
        "Count.",
        { tool: "bash", cmd: "seq 1 4990 > numbers.txt; seq 1 10 > a.txt" },
        { say: "Counted." }
      )
    })
    let changeset = ""
    for await (const event of client.sessions.stream({ session_id, types: ["changeset.ready"] })) {
      changeset = event.changeset_id ?? ""
      break
    }
    const page = await world.loggedIn(`sessions/${session_id}/review/${changeset}`)
    await page.getByText("numbers.txt").first().waitFor()
    assert.isBelow(await mostElements(page, "Diff"), 1000)
    await page.getByRole("button", { name: "Split" }).click()
    assert.isBelow(await mostElements(page, "Diff"), 1000)
    await picture(page, "volume-diff-split")

    await page.getByRole("button", { name: "Comment on a.txt, line 3", exact: true }).click()
    await page.getByLabel("Comment", { exact: true }).fill("Why three?")
    await page.getByRole("button", { name: "Add comment" }).click()
    await page.getByRole("navigation", { name: "Changed files" }).getByText("numbers.txt").click()
    await page.getByLabel("Viewed").last().check()
    await page.getByText("1 of 2 viewed").waitFor()
    await page.reload()
    await page.getByText("1 of 2 viewed").waitFor()
    await page.getByText("Why three?").waitFor()
    await page.getByRole("button", { name: "Send 1 comment" }).click()
    const message = page.getByRole("dialog").getByLabel("Message")
    assert.include(await message.inputValue(), "a.txt, line 3:\n> 3\nWhy three?")
    await message.fill(`${await message.inputValue()}\n\n${script("", { say: "Because of two." })}`)
    await picture(page, "review-comments")
    await page.getByRole("dialog").getByRole("button", { name: "Send" }).click()
    await page.getByText("Because of two.", { exact: true }).waitFor()
  })
})
