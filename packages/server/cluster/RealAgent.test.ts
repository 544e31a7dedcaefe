import { rmSync } from "node:fs"
import { cacheDir } from "@reins/testing/harness/Turns"
import { placeForEachTest } from "@reins/testing/process/Place"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, it } from "vitest"
import { allSealed, twoMachines } from "./Machines.js"
import { read, works } from "./Working.js"

const place = placeForEachTest()

/** The agent of alpha itself, in the sandbox. The disk of a lost machine does not come back. */
const realAgent = { REINS_CACHE_DIR: cacheDir, REINS_NODE_RECLAIM_SECONDS: "0" }

/** The model was asked with these words in one conversation. */
const assertAsked = (...words: ReadonlyArray<string>) => {
  const asked = place.gateway.requests.map(({ messages }) => JSON.stringify(messages))
  assert.isTrue(
    asked.some((messages) => words.every((word) => messages.includes(word))),
    `${words.join(", ")} of ${asked.length} requests`
  )
}

it("a conversation with opencode goes on on another node when its node is drained, and on a third disk when that one burns", async () => {
  const { caller, machines, other, otherMachine, owner, server, session_id } = await twoMachines(
    place,
    (caller, server, id) => works(caller, server, id, "The word is heliotrope.", "echo kept > kept.txt"),
    realAgent
  )
  machines.command("node", "drain", owner.name, "--wait")
  await works(caller, other, session_id, "What was the word?", "cat kept.txt > more.txt")
  assertAsked("The word is heliotrope.", "What was the word?")

  server.kill("SIGTERM")
  await server.ended
  rmSync(owner.dataDir, { recursive: true })
  const back = await owner.start()
  await allSealed(back)
  other.kill("SIGKILL")
  await other.ended
  rmSync(otherMachine.dataDir, { recursive: true, force: true })
  await eventually(
    "its lease has run out",
    () => machines.list().find(({ name }) => name === otherMachine.name)?.state === "lost"
  )
  await works(caller, back, session_id, "And the second question?", "cat kept.txt more.txt > seen.txt")
  assert.include((await read(caller, back, session_id, "seen.txt")).text, "kept\\nkept")
  assertAsked("The word is heliotrope.", "What was the word?", "And the second question?")
})
