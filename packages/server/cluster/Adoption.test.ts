import { rmSync } from "node:fs"
import { placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { allSealed, newMachines } from "./Machines.js"
import { read, works } from "./Working.js"

const place = placeForEachTest()

it("an installation on one machine becomes the first node, whose sessions outlive it from then on", async () => {
  const machines = await newMachines(place)
  const first = await machines.machine("first", { REINS_NODE_RECLAIM_SECONDS: "0" })
  const alone = await startServer({ dataDir: first.dataDir, env: machines.env })
  const caller = await machines.caller(alone)
  const session_id = await caller.newSession(caller.at(alone))
  await works(caller, alone, session_id, "The word is heliotrope.", "echo kept > kept.txt")
  alone.kill("SIGTERM")
  await alone.ended

  const node = await first.start()
  assert.deepStrictEqual(
    machines.list().map(({ name, sessions }) => [name, sessions]),
    [["first", 1]]
  )
  assert.include((await read(caller, node, session_id, "kept.txt")).text, "kept")
  // It kept no snapshots alone, and nobody has used the session since.
  await allSealed(node)
  const second = await (await machines.machine("second", { REINS_NODE_RECLAIM_SECONDS: "0" })).start()
  node.kill("SIGKILL")
  await node.ended
  rmSync(first.dataDir, { recursive: true, force: true })
  await eventually("its lease has run out", () => machines.list()[0]?.state === "lost")
  await works(caller, second, session_id, "What was the word?", "cat kept.txt > seen.txt")
  assert.include(JSON.stringify(place.gateway.requests.at(-1)?.messages), "heliotrope")
  assert.include((await read(caller, second, session_id, "seen.txt")).text, "kept")
})
