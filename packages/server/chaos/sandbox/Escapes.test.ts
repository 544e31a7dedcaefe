import { join } from "node:path"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { assert, it } from "vitest"
import { escapesOn } from "./Escapes.js"

const place = placeForEachTest(inHome)

it("no attempt gets out of the sandbox, and nothing that it leaves behind does anything afterwards", async () => {
  const { count, misled, out, survived } = await escapesOn(place, { executor: "bubblewrap" })
  assert.isAtLeast(count, 200)
  assert.deepStrictEqual([out, survived, misled], [[], [], []])
  process.stdout.write(`bubblewrap: ${count} attempts, 0 got out\n`)
})

it("the same attempts show what `local` gives away, so each kind of them can work", async () => {
  const { count, misled, out, survived } = await escapesOn(place, { executor: "local" })
  process.stdout.write(`local: ${count} attempts, ${out.length + survived.length} got out\n`)
  assert.includeMembers(out, [
    `open ${join(place.dataDir, "reins.db")}`,
    `open ${join(place.dataDir, "keyring.json")}`,
    "read a file of another session",
    "write a file of another session",
    "see trusted.git of the own session",
    "read the users of the machine",
    "read the environment of the server",
    "signal the server",
    "connect to 127.0.0.1",
    "connect to a socket of the machine",
    "connect to an abstract socket of the machine",
    "see a shared memory of the machine",
    "the system call mount",
    "run without a filter"
  ])
  assert.isNotEmpty(survived)
  // The service itself runs nothing that an agent has left in its files, whatever the agent ran in.
  assert.deepStrictEqual(misled, [])
})
