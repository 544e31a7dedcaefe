import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { type PostgresCluster, startCluster } from "@reins/testing/process/PostgresCluster"
import { startServer } from "@reins/testing/process/ServerProcess"
import { allPages, beginTurn, upTo, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, beforeEach, it } from "vitest"
import { agent } from "../Volume.js"

const place = placeForEachTest(inHome)

let cluster: PostgresCluster
beforeEach(async () => {
  cluster = await startCluster()
})
afterEach(() => cluster.stop())

/** Until it is told to end, and then once more. */
const again = (work: (round: number) => Promise<unknown>) => {
  let isOver = false
  const done = (async () => {
    for (let round = 0; !isOver; round++) await work(round)
  })()
  return () => {
    isOver = true
    return done
  }
}

it("a running turn, writes and streams outlive restarts of PostgreSQL, and nothing is lost or doubled", async () => {
  const env = { REINS_DATABASE_URL: await cluster.newDatabase("reins") }
  const server = await startServer({ dataDir: place.dataDir, agent, env })
  const caller = await newCaller(server, place.dataDir, place.gateway, env)
  const client = caller.at(server)
  const session_id = await caller.newSession(client)
  const mark = join(place.directory, "go-on")
  const waiting = script(
    "Wait.",
    { tool: "bash", cmd: `for n in $(seq 3000); do echo $n; test -e ${mark} && break; sleep 0.1; done` },
    { say: "Done." }
  )
  const { job_id, turn_id } = await beginTurn(client, session_id, waiting, "tool.started")
  const notes = await caller.newSession(client)
  const kept: Array<string> = []
  const stopWriting = again(async (round) => {
    await client.messages.send({ session_id: notes, content: `Note ${round}`, routing: "note" })
    kept.push(`Note ${round}`)
  })
  const heard: Array<number> = []
  const stopReading = new AbortController()
  const reading = (async () => {
    for await (const { seq } of client.sessions.stream({ session_id: notes }, { signal: stopReading.signal }))
      heard.push(seq)
  })().catch((error) => assert.isTrue(stopReading.signal.aborted, String(error)))

  for (let restarts = 0; restarts < 5; restarts++) {
    const before = kept.length
    await cluster.restart()
    await eventually("writes go on", () => kept.length > before + 20)
  }
  writeFileSync(mark, "")
  const turn = await client.turns.wait({ turn_id })
  assert.strictEqual(turn.state, "succeeded", `${JSON.stringify(turn)}\n${server.log()}`)
  assert.lengthOf((await client.jobs.get({ job_id })).attempts, 1)
  await stopWriting()

  const { event_watermark } = await client.sessions.get({ session_id: notes })
  await eventually("the stream comes to its end", () => heard.at(-1) === event_watermark)
  stopReading.abort()
  await reading
  assert.deepStrictEqual(heard, upTo(event_watermark))
  await wholeLog(client, session_id)
  const messages = await allPages((page) => client.messages.list({ session_id: notes, ...page }))
  assert.deepStrictEqual(
    messages.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : block.path))),
    kept
  )
})
