import { readFileSync, readlinkSync } from "node:fs"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { eventually } from "@reins/testing/process/Waiting"
import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"

/** The time in which everything ends that nobody waits for, in milliseconds. A lost claim of a production server runs out meanwhile. */
const patienceMs = 60_000

/**
 * Waits until an installation is at rest. Then each row that says that something runs has somebody who works on it, and no process of ours is left.
 * Fails with the names of what is left.
 */
export const holdsAtRest = async (installation: Installation): Promise<void> => {
  let left: ReadonlyArray<string> = []
  const isAtRest = async () => {
    left = [...(await rowsLeft(installation)), ...(await processesLeft(installation))]
    return left.length === 0
  }
  await eventually("an installation at rest", isAtRest, patienceMs).catch(() => {
    assert.deepStrictEqual(left, [], "left running or waiting")
  })
}

const isOver = "turns.state in ('succeeded', 'failed', 'cancelled', 'interrupted')"

/** A person has to look at an interrupted turn before this one. */
const isHeldUp = `exists (select 1 from turns before where before.session_id = turns.session_id and before.ordinal < turns.ordinal
  and before.state = 'interrupted' and before.acknowledged_at is null)`

/** The retry of an interrupted turn takes the answer of its call. Until then the call may wait. */
const mayBeRetried = `turns.state = 'interrupted' and turns.acknowledged_at is null
  and not exists (select 1 from turns again where again.retry_of_turn_id = turns.id)`

/** The rows of each table that are left at rest. */
const conditions: Readonly<Record<string, string>> = {
  jobs: "state in ('queued', 'running', 'retry_wait') and held = 0 and kind != 'delegation.deadline'",
  attempts: "state = 'running'",
  turns: `state in ('preparing', 'running', 'requires_action', 'cancelling') or (state = 'queued' and not ${isHeldUp})`,
  messages: `state = 'queued' and exists (select 1 from turns where turns.id = messages.turn_id and ${isOver})`,
  tool_calls: "state = 'running'",
  interactions: `state = 'pending' and exists (select 1 from turns where turns.id = turn_id and not (${mayBeRetried}))`,
  delegations: "state in ('pending', 'active', 'waiting_result')",
  delegation_waits: "state = 'pending'",
  attentions: "state in ('preparing', 'turning', 'delivering')",
  merge_requests: "state = 'pending'",
  changesets: "state = 'capturing'",
  deliveries: "state in ('pending', 'executing')",
  applications: "state in ('pending', 'executing')",
  automation_runs: "state in ('waiting', 'running')",
  webhook_deliveries: `state = 'pending'
    and exists (select 1 from webhook_endpoints where webhook_endpoints.id = endpoint_id and webhook_endpoints.state = 'enabled')`,
  connection_validations: "state in ('queued', 'running')",
  session_deletions: "state = 'deleting'",
  deletions: "state = 'deleting'",
  leases: "state in ('allocating', 'quiescing')",
  working_trees: "state = 'preparing'",
  calls_in_flight: "1 = 1"
}

/** The columns that tell a row where it has no `id`. */
const ids: Readonly<Record<string, string>> = {
  session_deletions: "session_id",
  leases: "session_id",
  working_trees: "session_id"
}

/** One statement, because every table would be a connection. */
const query = Object.entries(conditions)
  .map(
    ([table, condition]) =>
      `select '${table}' as place, ${ids[table] ?? "id"} as id, ${table === "calls_in_flight" ? "'running'" : "state"} as state from ${table} where ${condition}`
  )
  .join(" union all ")

const rowsLeft = async ({ records }: Installation): Promise<ReadonlyArray<string>> => {
  const row = Schema.Struct({ place: Schema.String, id: Schema.String, state: Schema.String })
  return (await records.all(row, query)).map(({ id, place, state }) => `${place} ${id} is ${state}`)
}

/** The leases whose agent waits for the next turn of its session. */
const keptLeases =
  "select id from leases left join agent_states on agent_states.session_id = leases.session_id where state = 'ready' and (native_digest = 'live' or native_session_id is null)"

const Id = Schema.Struct({ id: Schema.String })

/**
 * Lists the processes of an installation that nobody keeps. Some belong to a lease without an agent for the next turn. Others name the directory of
 * the installation, and no living server has begun them.
 */
const processesLeft = async (installation: Installation): Promise<ReadonlyArray<string>> => {
  const { dataDir, records, servers } = installation
  const leases = new Set((await records.all(Id, "select id from leases")).map(({ id }) => id))
  const kept = new Set((await records.all(Id, keptLeases)).map(({ id }) => id))
  const living = new Set(servers.pids)
  const isLeft = (pid: number): boolean => {
    if (living.has(pid)) return false
    const lease = /(?:^|\0)REINS_LEASE=([^\0]*)/.exec(shown(pid, "environ"))?.[1]
    if (lease !== undefined && leases.has(lease)) return !kept.has(lease)
    return namesDirectory(pid, dataDir) && !isBelow(pid, living)
  }
  return processesWhere(isLeft).map((pid) => `process ${pid}: ${shown(pid, "cmdline").replaceAll("\0", " ")}`)
}

/** A process that has ended shows nothing. */
const namesDirectory = (pid: number, directory: string): boolean => {
  const words = shown(pid, "cmdline")
  if (words === "") return false
  return words.includes(directory) || shown(pid, "environ").includes(directory) || placeOf(pid).startsWith(directory)
}

const placeOf = (pid: number): string => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ""
  }
}

const isBelow = (pid: number, ancestors: ReadonlySet<number>): boolean => {
  for (let at = pid; at > 1; at = parentOf(at)) if (ancestors.has(at)) return true
  return false
}

const parentOf = (pid: number): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program stands in brackets and may hold any sign.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
  } catch {
    return 0
  }
}
