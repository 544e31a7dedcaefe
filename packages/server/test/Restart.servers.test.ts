import { processesOf } from "@reins/testing/executor/Processes"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { reins, startServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers, assertWorkerLost, beginTurn, endlessTool, wholeLog } from "@reins/testing/process/Turns"
import { assert, it } from "vitest"

const place = placeForEachTest()

it("a turn that was running when the server was killed is interrupted, leaves no process, and the session goes on", async () => {
  const { dataDir, directory } = place
  const env = { REINS_CACHE_DIR: cacheWithSmallAgent(directory) }
  const first = await startServer({ dataDir, env })
  const caller = await newCaller(first, dataDir, place.gateway)
  const before = caller.at(first)
  const session_id = await caller.newSession(before)
  const begun = await beginTurn(before, session_id, endlessTool(), "tool.started")
  assert.isNotEmpty(processesOf(begun.lease_id))
  const standingOf = async ({ workspaces }: typeof before) =>
    (await workspaces.listWork({ workspace_id: caller.workspaceId, session_ids: session_id })).items.map(
      ({ state, view }) => `${state}, ${view}`
    )
  assert.deepStrictEqual(await standingOf(before), ["running, working"])
  first.kill("SIGKILL")
  await first.ended

  const second = await startServer({ dataDir, env })
  const after = caller.at(second)
  const turn = await after.turns.wait({ turn_id: begun.turn_id })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"])
  assert.isEmpty(processesOf(begun.lease_id))
  assert.strictEqual((await after.sessions.get({ session_id })).activity, "attention")
  assert.deepStrictEqual(await standingOf(after), ["interrupted, waiting"])
  await assertWorkerLost(after, begun.job_id)
  await after.turns.acknowledge({ turn_id: turn.id })
  await assertAnswers(after, session_id)
  assert.deepStrictEqual(await standingOf(after), ["idle, open"])
  await wholeLog(after, session_id)
  second.kill("SIGTERM")
  assert.deepStrictEqual(await second.ended, { code: 0, signal: null })
}, 120_000)

it("a second server on the same data directory is refused in words", async () => {
  const first = await startServer({ dataDir: place.dataDir })
  const refused = reins(place.dataDir, ["serve", "--port", "0"])
  assert.notStrictEqual(refused.status, 0)
  assert.include(refused.stderr, "Another Reins server uses the data directory")
  first.kill("SIGTERM")
  assert.deepStrictEqual(await first.ended, { code: 0, signal: null })
}, 60_000)
