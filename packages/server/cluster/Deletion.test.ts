import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Caller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { allSealed, type Machine, type Machines, twoMachines } from "./Machines.js"
import { works } from "./Working.js"

const place = placeForEachTest()

/** Lost sessions go to other nodes at once. */
const atOnce = { REINS_NODE_RECLAIM_SECONDS: "0" }

const two = (settings: Readonly<Record<string, string>> = {}) =>
  twoMachines(
    place,
    (caller, server, session_id) => works(caller, server, session_id, "Begin.", "echo kept > kept.txt"),
    settings
  )

const deleted = async (caller: Caller, server: ServerProcess, session_id: string) => {
  const client = caller.at(server)
  const receipt = await client.sessions.delete({ session_id })
  const job = await client.jobs.wait({ job_id: receipt.job_id })
  assert.strictEqual(job.state, "succeeded", JSON.stringify(job))
  assert.strictEqual((await client.sessions.getDeletion({ session_id })).state, "deleted")
}

const sessionsOf = (machines: Machines) => machines.list().map(({ sessions }) => sessions)

const filesAt = ({ dataDir }: Machine, session_id: string) => existsSync(join(dataDir, "sessions", session_id))

it("a session is deleted on the node that has its files, whichever node is asked", async () => {
  const { caller, machines, other, owner, session_id } = await two()
  assert.isTrue(filesAt(owner, session_id))
  await deleted(caller, other, session_id)
  assert.isFalse(filesAt(owner, session_id))
  const withoutFiles = await caller.newSession(caller.at(other))
  await deleted(caller, other, withoutFiles)
  assert.deepStrictEqual(sessionsOf(machines), [0, 0])
})

it("a session of a lost node is deleted by another one, and the node that comes back removes what it has of it", async () => {
  const { caller, machines, other, owner, server, session_id } = await two(atOnce)
  await allSealed(other)
  server.kill("SIGKILL")
  await server.ended
  await eventually(
    "its lease has run out",
    () => machines.list().find(({ name }) => name === owner.name)?.state === "lost"
  )
  await deleted(caller, other, session_id)
  assert.isTrue(filesAt(owner, session_id))
  await owner.start()
  await eventually("its files are removed", () => !filesAt(owner, session_id))
  assert.isFalse(existsSync(join(owner.dataDir, "lost+found")))
})
