import { setTimeout as pause } from "node:timers/promises"
import { Reins, ReinsApiError } from "@reins/client"
import { Ledger } from "@reins/testing/process/Ledger"
import { eventually } from "@reins/testing/process/Waiting"
import { assert } from "vitest"
import { deliver, deliveredOnce, newDelivering } from "./Deliveries.js"
import { type Fault, type FaultName, faults, renewed } from "./Faults.js"
import { holds } from "./Holds.js"
import type { Node, Rig } from "./Rig.js"
import {
  allSealed,
  endEndless,
  endOf,
  goOn,
  newSubject,
  type Subject,
  send,
  sendEndless,
  steered,
  upload,
  work
} from "./Sessions.js"

/** The phase of a session when the fault comes. */
export type Phase = "idle" | "preparing" | "running" | "sealing" | "restoring" | "draining"

/** A round: sessions in their phases on one node, and a caller who gets through to whoever answers. */
export interface Round {
  readonly rig: Rig
  readonly node: Node
  readonly other: Node
  readonly client: Reins
  readonly ledger: Ledger
  readonly subjects: Map<string, Subject>
}

const newRound = (rig: Rig): Round => {
  const [node, other] = rig.nodes
  const ledger = new Ledger({ urls: rig.nodes.map(({ url }) => url), tryMs: 5000 })
  const client = new Reins({ baseUrl: other.url, apiKey: rig.caller.apiKey, fetch: ledger.fetch, timeoutMs: 300_000 })
  return { rig, node, other, client, ledger, subjects: new Map() }
}

/** Brings a session of each phase to the node, into its phase. Those that are held wait at their points. */
const reach = async (round: Round): Promise<void> => {
  const { client, node, other, rig, subjects } = round
  const begin = async (phase: string) => void subjects.set(phase, await newSubject(rig, client))
  const of = (phase: Phase): Subject => {
    const subject = subjects.get(phase)
    if (subject === undefined) throw new Error(`no session is ${phase}`)
    return subject
  }
  await steered(rig, other, () => begin("restoring"))
  await steered(rig, node, async () => {
    await Promise.all(["idle", "preparing", "running", "sealing"].map(begin))
    subjects.set("delivering", await newDelivering(round))
  })
  await allSealed(rig)
  await leave(rig, other, of("restoring"))

  const isSealing = await node.hold("snapshot.stored")
  await work(client, of("sealing"), "echo later > later.txt")
  await isSealing()

  const isPreparing = await node.hold("turn.begun")
  await send(client, of("preparing"), "echo prepared > prepared.txt")
  await isPreparing()

  const isRestoring = await node.hold("restore.files_made")
  await steered(rig, node, async () => {
    await send(client, of("restoring"), "echo restored > restored.txt")
    await isRestoring()
  })
  await sendEndless(client, of("running"), node)
}

/** The node gives its sessions away: one is sealed and not given yet, one is given and still has its files, and one has a turn. */
const reachDraining = async ({ client, node, rig, subjects }: Round): Promise<void> => {
  const begin = async (name: string) => void subjects.set(name, await newSubject(rig, client))
  await steered(rig, node, () => Promise.all(["one", "two", "three"].map(begin)))
  await allSealed(rig)
  const running = subjects.get("three")
  if (running === undefined) throw new Error("no session")
  await sendEndless(client, running, node)
  const waits = [await node.hold("handover.sealed"), await node.hold("handover.left")]
  await drain(rig, node)
  for (const wait of waits) await wait()
}

const drain = ({ query }: Rig, { name }: Node) => query("update nodes set state = 'draining' where name = $1", [name])

/** Has a node give a session away, and be one like the others again. */
const leave = async (rig: Rig, node: Node, { session_id }: Subject): Promise<void> => {
  await drain(rig, node)
  await eventually("the session has left", async () => {
    const [row] = await rig.query("select 1 from placements where session_id = $1 and node_id is null", [session_id])
    return row !== undefined
  })
  await rig.query("update nodes set state = 'active' where name = $1", [node.name])
}

/** The time between two writes, in milliseconds. More of them would measure the machine and nothing else. */
const writeEveryMs = 200

/** Writes for every session, and a file for one of them, through whichever node answers, until it is told to stop. Gives what the file holds. */
const load = ({ client, subjects }: Round, { session_id }: Subject) => {
  let isOver = false
  const all = [...subjects.values()]
  const done = (async () => {
    for (let count = 0; ; count++) {
      const content = `Note ${count}`
      const noted = all[count % all.length]?.session_id ?? session_id
      await client.messages.send({ session_id: noted, content, routing: "note" })
      const isWritten = await client.sessions.uploadFile({ session_id, path: loadedPath, content }).then(
        () => true,
        // One that is refused, as on a full disk, is not there. The last one is.
        (error: unknown) => {
          if (error instanceof ReinsApiError) return false
          throw error
        }
      )
      if (isOver && isWritten) return content
      await pause(writeEveryMs)
    }
  })()
  // Its failure is looked at when it is stopped.
  done.catch(() => undefined)
  return () => {
    isOver = true
    return done
  }
}

const loadedPath = "loaded.txt"

/** Every session can be used: its turns have ended, another one succeeds, and its files are there. */
const usable = async ({ client }: Round, subject: Subject): Promise<void> => {
  for (const turn_id of subject.prompts.values()) await endOf(client, turn_id)
  await upload(client, subject, "again.txt")
  await work(client, subject, "cat kept.txt given.txt again.txt > seen.txt")
  for (const [path, content] of subject.files) {
    const file = await client.sessions.getFile({ session_id: subject.session_id, path })
    assert.strictEqual(file.content, content, `${path} of ${subject.session_id}`)
  }
}

/** No turn ends in another way than it would have, but those that go on. */
const allSucceed = async ({ client, subjects }: Round): Promise<void> => {
  for (const [name, { files, prompts }] of subjects) {
    const isEndless = (name === "running" || name === "three") && !files.has(goOn)
    for (const turn_id of [...prompts.values()].slice(0, isEndless ? -1 : undefined))
      assert.strictEqual(await endOf(client, turn_id), "succeeded", `the turn of the session that is ${name}`)
    if (isEndless) {
      const turn_id = [...prompts.values()].at(-1) ?? ""
      assert.strictEqual((await client.turns.get({ turn_id })).state, "running")
    }
  }
}

const allUsable = (round: Round) => Promise.all([...round.subjects.values()].map((subject) => usable(round, subject)))

/** Has a fault come over the phases of a round, heals it, and compares the ledger. */
export const play = async (rig: Rig, name: FaultName, phases: ReadonlyArray<Phase>): Promise<void> => {
  const fault: Fault = faults[name]
  const round = newRound(rig)
  const { client, node, subjects } = round
  await (phases.includes("draining") ? reachDraining(round) : reach(round))
  const resting = subjects.get("delivering") ?? subjects.get("one")
  if (resting === undefined) throw new Error("no session rests")
  const stop = load(round, resting)
  await fault.begin(rig, node)
  const delivering = subjects.get("delivering")
  const delivery = delivering && (await deliver(round, delivering))
  await fault.effect(rig, node)
  if (fault.losesLease) {
    await allUsable(round)
    await fault.heal(rig, node)
    // Work that had begun on the node goes on now, when others have its sessions.
    node.release()
  } else {
    node.release()
    if (fault.letsWork) await allSucceed(round)
    else await renewed(rig, node)
    await fault.heal(rig, node)
    const running = subjects.get("running") ?? subjects.get("three")
    if (running !== undefined) await endEndless(client, running)
    if (fault.letsWork) await allSucceed(round)
  }
  await rig.query("update nodes set state = 'active' where name = $1 and state = 'draining'", [node.name])
  await renewed(rig, node)
  await allUsable(round)
  const content = await stop()
  const loaded = await client.sessions.getFile({ session_id: resting.session_id, path: loadedPath })
  assert.strictEqual(loaded.content, content, "the file that was written all the time")
  if (delivery !== undefined) await deliveredOnce(round, delivery)
  await holds(round)
  await Promise.all([...subjects.values()].map(({ session_id }) => client.sessions.close({ session_id })))
}
