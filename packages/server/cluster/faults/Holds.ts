import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { upTo } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { assert } from "vitest"
import type { Node, Rig } from "./Rig.js"
import type { Round } from "./Round.js"
import { allSealed, stamps } from "./Sessions.js"

/** A row of the audit: a write for a session, and the place of the session at that moment. */
interface Written {
  readonly uptime: number
  readonly address: string
  readonly kind: "event" | "snapshot" | "place"
  readonly session_id: string
  readonly type: string | null
  readonly actor: string | null
  readonly node_id: string | null
  readonly epoch: number | null
}

/** Looks whether everything is so that must be so once an installation is at rest, whatever has gone wrong before. */
export const holds = async (round: Round): Promise<void> => {
  const { client, ledger, rig } = round
  await rests(rig)
  await allSealed(rig)
  assert.deepStrictEqual(
    await ledger.replay(round.other.url, ledger.entries),
    [],
    "answered in another way than before"
  )
  await gapless(rig)
  await acknowledged(round)
  const written = await rig.query<Written & Record<string, unknown>>("select * from audit order by id")
  assert.deepStrictEqual(foreign(rig, written), [], "written by a node that had not the session")
  assert.deepStrictEqual(twoWriters(written), [], "two writers in one epoch")
  for (const { session_id } of round.subjects.values())
    assert.deepStrictEqual(
      tooLate(rig, written, session_id),
      [],
      "a file was written when another node had the session"
    )
  await promptedOnce(round)
  await changesetsAreWhole(round)
  assert.deepStrictEqual(await orphans(rig), [], "agents of sessions that the node does not have")
  assert.isTrue((await client.accounts.getMe()).workspaces.length > 0)
}

/** No work is left that anybody would do. */
const rests = ({ query }: Rig) =>
  eventually("the work is done", async () => {
    const open = await query(
      "select kind, state, error from jobs where state in ('queued', 'running', 'retry_wait') and held = 0"
    )
    return open.length === 0
  })

/** The events of each session have the numbers 1 to N. */
const gapless = async ({ query }: Rig): Promise<void> => {
  const rows = await query<{ session_id: string; seqs: Array<number>; event_watermark: number }>(
    `select session_id, array_agg(seq order by seq) as seqs, event_watermark from events
      join sessions on sessions.id = session_id group by session_id, event_watermark`
  )
  for (const { event_watermark, seqs, session_id } of rows)
    assert.deepStrictEqual(seqs, upTo(event_watermark), `the events of ${session_id}`)
}

/** Everything that was acknowledged is there once. The files are compared where they are used. */
const acknowledged = async ({ ledger, rig }: Round): Promise<void> => {
  const messages = await rig.query<{ id: string; content: string }>(
    "select id, content from messages where role = 'user'"
  )
  const counts = new Map<string, number>()
  for (const { content, id } of messages) counts.set(id, (counts.get(id) ?? 0) + (content.length > 0 ? 1 : 0))
  const sent = ledger.entries.filter(({ path }) => path.endsWith("/messages"))
  assert.isNotEmpty(sent)
  const ids = sent.map(({ answer }) => JSON.parse(answer).message.id)
  assert.lengthOf(new Set(ids), new Set(sent.map(({ headers }) => headers["idempotency-key"])).size)
  assert.deepStrictEqual(
    ids.filter((id) => counts.get(id) !== 1),
    [],
    "messages that are not there once"
  )
  const doubled = await rig.query(
    "select message_id from turns where retry_of_turn_id is null group by message_id having count(*) > 1"
  )
  assert.deepStrictEqual(doubled, [], "messages with more than one turn")
}

/** The words of the agent and the snapshots come from the node that has the session at that moment. */
const isOfOwner = ({ actor, kind, type }: Written) =>
  kind === "snapshot" || type === "workspace.restored" || (kind === "event" && actor === "harness")

const foreign = ({ nodes }: Rig, written: ReadonlyArray<Written>) => {
  const nameOf = new Map(nodes.map(({ host, name }) => [host.address, name]))
  return written.filter((row, at) => isOfOwner(row) && nameOf.get(row.address) !== row.node_id && !isKept(written, at))
}

/** The finder of a lost turn seals and keeps the words that its agent had said, and tells its end in the same commit. */
const isKept = (written: ReadonlyArray<Written>, at: number): boolean => {
  const row = written[at]
  const events = written.slice(at).filter(({ kind, session_id }) => kind === "event" && session_id === row?.session_id)
  const end = events.findIndex(({ type }) => type === "turn.interrupted")
  const keeping = ({ address, type }: Written) =>
    address === row?.address && (type === "message.part_updated" || type === "message.completed")
  return end > 0 && events.slice(0, end).every(keeping) && events[end]?.address === row?.address
}

const twoWriters = (written: ReadonlyArray<Written>) => {
  const writers = new Map<string, string>()
  return written.filter((row, at) => {
    if (!isOfOwner(row) || isKept(written, at)) return false
    const epoch = `${row.session_id} ${row.epoch}`
    const known = writers.get(epoch) ?? row.address
    writers.set(epoch, known)
    return known !== row.address
  })
}

/** The last stamp that a node has written to the files of a session that it has lost since. */
const lastStamps = ({ nodes }: Rig, session_id: string) =>
  nodes.flatMap((node) =>
    copiesOf(node, session_id).flatMap((file) => {
      const last = readFileSync(file, "utf8").trim().split("\n").at(-1)
      return last === undefined || last === "" ? [] : [{ node: node.name, at: Number(last) }]
    })
  )

const copiesOf = ({ dataDir }: Node, session_id: string): ReadonlyArray<string> => {
  const found = join(dataDir, "lost+found")
  const aside = existsSync(found) ? readdirSync(found).filter((name) => name.startsWith(session_id)) : []
  return [join(dataDir, "sessions", session_id), ...aside.map((name) => join(found, name))]
    .map((place) => join(place, "workspace", stamps))
    .filter((path) => existsSync(path))
}

/**
 * The stamps that a node has written after another one had got the session. Stamps that came to the other node in a snapshot are those of the node
 * that wrote them, so each copy is compared with the moment at which its node lost the session.
 */
const tooLate = (rig: Rig, written: ReadonlyArray<Written>, session_id: string) => {
  const places = written.filter((row) => row.kind === "place" && row.session_id === session_id)
  return lastStamps(rig, session_id).flatMap(({ at, node }) => {
    const mine = places.findLastIndex(({ node_id }) => node_id === node)
    const next = places.slice(mine + 1).find(({ node_id }) => node_id !== null)
    return next !== undefined && at > next.uptime ? [{ node, at, next: next.node_id, from: next.uptime }] : []
  })
}

/** The model was asked once for each prompt whose turn has succeeded, and at most once for every other one. */
const promptedOnce = async ({ client, rig, subjects }: Round): Promise<void> => {
  for (const { prompts, session_id } of subjects.values())
    for (const [mark, turn_id] of prompts) {
      const turn = await client.turns.get({ turn_id })
      const asked = rig.gateway.requests.filter(({ messages }) => {
        const last = messages.at(-1)
        return last?.role === "user" && last.text.includes(mark)
      }).length
      const isRight = turn.state === "succeeded" ? asked === 1 : asked <= 1 && turn.state === "interrupted"
      assert.isTrue(isRight, `${session_id} ${turn_id} is ${turn.state}, and its model was asked ${asked} times`)
    }
}

/** The work of turns can be read. */
const changesetsAreWhole = async ({ client, subjects }: Round): Promise<void> => {
  for (const { session_id } of subjects.values()) {
    const { items } = await client.sessions.listChangesets({ session_id })
    assert.isNotEmpty(items)
    for (const { diagnostics, id, state } of items) {
      // A capture that found the disk full says so, and the files are in the next one.
      if (state === "failed" && JSON.stringify(diagnostics).includes("The disk of the service")) continue
      assert.strictEqual(state, "ready", JSON.stringify(diagnostics))
      assert.isNotEmpty((await client.changesets.getDiff({ changeset_id: id })).diff)
    }
  }
}

/** The process namespace of a process, as the system names it. */
const namespaceOf = (pid: number): string => {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return ""
  }
}

/** The agents on each machine whose lease is none of a session that the node has. */
const orphans = async ({ nodes, query }: Rig): Promise<ReadonlyArray<string>> => {
  const rows = await query<{ node_id: string; lease_id: string }>(
    `select node_id, leases.id as lease_id from placements join leases on leases.session_id = placements.session_id
      where node_id is not null and leases.state in ('allocating', 'ready', 'quiescing')`
  )
  return nodes.flatMap((node) => {
    const own = rows.filter(({ node_id }) => node_id === node.name).map(({ lease_id }) => `REINS_LEASE=${lease_id}`)
    const here = namespaceOf(node.box.init)
    return processesWhere((pid) => {
      const environment = shown(pid, "environ")
      if (!environment.includes("REINS_LEASE=") || namespaceOf(pid) !== here) return false
      return !own.some((entry) => environment.includes(entry))
    }).map((pid) => `${node.name}: ${shown(pid, "cmdline").slice(0, 80)}`)
  })
}
