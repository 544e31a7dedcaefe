// The processor time that the console takes for a frame while long lists are scrolled, beside the same lists with 50 items.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { openSqlite } from "@reins/core/internal/store/SqliteDriver"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory } from "./processes.mjs"

const browserPath = "/usr/bin/chromium"
const short = 50
const events = 10_000
const lines = 5_000
const view = { width: 1280, height: 800 }

export const consolePage = async ({ report, settings }) => {
  report.subject("The console in Chromium, scrolling")
  if (!existsSync(browserPath)) {
    report.note(`not measured, because there is no ${browserPath}: apt-get install chromium`)
    return
  }
  const installation = await install("console")
  const filled = await fill(installation)
  const server = await installation.start()
  const { chromium } = await import("playwright-core")
  const browser = await chromium.launchPersistentContext(join(directory, "browser"), {
    executablePath: browserPath,
    args: ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
    viewport: view,
    timeout: 120_000
  })
  try {
    const page = await browser.newPage()
    page.setDefaultTimeout(180_000)
    await logIn(page, `${server.url}/ui`, installation)
    const framesOf = async (label, path) => {
      await page.goto(`${server.url}/ui/${path}`)
      return costliestFrame(page, label, settings.samples)
    }
    for (const [what, label, few, many] of [
      [`a session of ${events} events`, "Events", filled.events.short, filled.events.long],
      [`a diff of ${lines} lines`, "Diff", filled.diff.short, filled.diff.long]
    ]) {
      const [ofFew, ofMany] = [await framesOf(label, few), await framesOf(label, many)]
      report.figure(`Costliest frame while scrolling ${what}: CPU`, ofMany, "ms", { atMost: 100 })
      report.figure(`Costliest frame while scrolling ${what}, in that of ${short}`, ofMany / ofFew, "")
    }
  } finally {
    await browser.close()
    await server.stop()
  }
}

/** Makes short and long sessions and diffs. Gives their paths on the page. */
const fill = async (installation) => {
  const server = await installation.start()
  await connect(server)
  const sessionWith = async (count) => {
    const { id } = await server.newSession()
    await server.reins.messages.send({ session_id: id, content: "a note", routing: "note" })
    return { id, count }
  }
  const sessions = [await sessionWith(short), await sessionWith(events)]
  const diffs = [await diffOf(server, short), await diffOf(server, lines)]
  await server.stop()
  for (const { count, id } of sessions) fillLog(installation.dataDir, id, count)
  const [few, many] = sessions.map(({ id }) => `sessions/${id}/events`)
  return { events: { short: few, long: many }, diff: { short: diffs[0], long: diffs[1] } }
}

/** A session whose only changeset adds so many lines. Gives the path of its review. */
const diffOf = async (server, count) => {
  const { id } = await server.newSession()
  const content = Array.from({ length: count }, (_, line) => `${line}\n`).join("")
  await server.reins.sessions.uploadFile({ session_id: id, path: "numbers.txt", content })
  const { changeset, event_watermark } = await server.reins.sessions.capture({ session_id: id })
  const after = event_watermark - 1
  for await (const { type } of server.reins.sessions.stream({ session_id: id, after })) {
    if (type === "changeset.ready") return `sessions/${id}/review/${changeset.id}`
    if (type === "changeset.failed") throw new Error("the changeset failed")
  }
}

/** Fills the log of a session with copies of its note, while no server runs. */
const fillLog = (dataDir, id, count) => {
  const db = openSqlite(join(dataDir, "reins.db"))
  db.prepare(`
    with recursive numbers(n) as (
      select event_watermark + 1 from sessions where id = @id union all select n + 1 from numbers where n < @count
    )
    insert into events (session_id, seq, type, turn_id, envelope)
    select @id, n, type, turn_id, json_set(envelope, '$.seq', n) from numbers,
      (select type, turn_id, envelope from events where session_id = @id and type = 'message.accepted' limit 1)
  `).run({ id, count })
  db.prepare("update sessions set event_watermark = ? where id = ?").run(count, id)
  db.close()
}

const logIn = async (page, url, { email, password }) => {
  await page.goto(url)
  await page.getByLabel("E-mail address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Log in" }).click()
  await page.locator("#main").waitFor()
}

/**
 * Scrolls a list from its top to its end and back, several times. Gives the most processor time of one frame in milliseconds, the median of the times.
 * It is the time of the processor, so that waiting for it does not count.
 */
const costliestFrame = async (page, label, samples) => {
  const list = page.getByRole("region", { name: label, exact: true })
  await list.waitFor()
  const tools = await page.context().newCDPSession(page)
  await tools.send("Performance.enable", { timeDomain: "threadTicks" })
  const worked = async () => {
    const { metrics } = await tools.send("Performance.getMetrics")
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000
  }
  const steps = 60
  const parts = Array.from({ length: steps + 1 }, (_, step) => step / steps)
  const scroll = async () => {
    let most = 0
    for (const part of [...parts, ...parts.toReversed()]) {
      const before = await worked()
      await list.evaluate(async (element, to) => {
        element.scrollTop = to * element.scrollHeight
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      }, part)
      most = Math.max(most, (await worked()) - before)
    }
    return most
  }
  // The first time loads the list.
  await scroll()
  const found = []
  for (let sample = 0; sample < samples; sample++) found.push(await scroll())
  await tools.detach()
  return median(found)
}
