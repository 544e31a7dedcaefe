import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import type { Place } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { reins, type ServerProcess, spawnServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"

/** The lease of the nodes of these tests, in seconds. Production has 6. */
const leaseSeconds = 3

/** The life of a claim on their work, in seconds. It does not end before the lease, so that the lease decides. Production has 30. */
const claimSeconds = 10

/** A machine: a data directory and an address, which a process uses under the name of its node. */
export interface Machine {
  readonly name: string
  readonly dataDir: string
  /** Starts the server, or another build of it. */
  readonly start: (program?: string) => Promise<ServerProcess>
}

/** An installation on several machines: one PostgreSQL, one key ring, and a data directory for each node. */
export interface Machines {
  /** A machine for a node. Its disk has the name of the node, unless it is another one. */
  readonly machine: (name: string, settings?: Readonly<Record<string, string>>, disk?: string) => Promise<Machine>
  /** Runs a command of the installation. */
  readonly command: (...args: ReadonlyArray<string>) => ReturnType<typeof reins>
  /** The nodes as `reins node list` tells them. */
  readonly list: () => ReadonlyArray<{
    readonly name: string
    readonly state: string
    readonly sessions: number
    readonly providers: ReadonlyArray<string>
  }>
  /** An account with a key and connections, made at the first call. */
  readonly caller: (server: ServerProcess) => Promise<Caller>
  /** The settings that all servers of the installation share. */
  readonly env: Readonly<Record<string, string>>
}

/** Two machines, and a session on one of them. */
export interface Two {
  readonly machines: Machines
  readonly caller: Caller
  readonly session_id: string
  /** The machine that has the session, and its server. */
  readonly owner: Machine
  readonly server: ServerProcess
  readonly otherMachine: Machine
  readonly other: ServerProcess
}

/** Starts two machines. `work` gives a session its node by its first turn. */
export const twoMachines = async (
  place: Place,
  work: (caller: Caller, server: ServerProcess, session_id: string) => Promise<unknown>,
  settings: Readonly<Record<string, string>> = {}
): Promise<Two> => {
  const machines = await newMachines(place)
  const all = [await machines.machine("a", settings), await machines.machine("b", settings)]
  const servers: Array<ServerProcess> = []
  for (const machine of all) servers.push(await machine.start())
  const [first] = servers
  if (first === undefined) throw new Error("no server")
  const caller = await machines.caller(first)
  const session_id = await caller.newSession(caller.at(first))
  await work(caller, first, session_id)
  const at = machines.list().findIndex(({ sessions }) => sessions === 1)
  const [owner, server, otherMachine, other] = [all[at], servers[at], all[1 - at], servers[1 - at]]
  if (owner === undefined || server === undefined || other === undefined || otherMachine === undefined)
    throw new Error("no owner")
  return { machines, caller, session_id, owner, server, otherMachine, other }
}

/** Waits until every session of the installation is in a snapshot, as any of its servers says. */
export const allSealed = (server: ServerProcess) =>
  eventually("every session is in a snapshot", async () =>
    /^reins_sessions_unsealed 0$/m.test(await (await fetch(`${server.url}/metrics`)).text())
  )

/** A new installation below a place. */
export const newMachines = async (place: Place): Promise<Machines> => {
  const env = {
    REINS_DATABASE_URL: await place.newPostgresDatabase(),
    REINS_KEY_FILE: join(place.directory, "keyring.json"),
    REINS_CACHE_DIR: cacheWithSmallAgent(place.directory),
    REINS_EXECUTOR: "bubblewrap",
    // Several machines need a mail server, and nobody is mailed here.
    REINS_SMTP_URL: "smtp://127.0.0.1:9",
    REINS_LEASE_SECONDS: String(claimSeconds)
  }
  const ofNode = { ...env, REINS_NODE_LEASE_SECONDS: String(leaseSeconds) }
  const operator = join(place.directory, "operator")
  mkdirSync(operator)
  const command = (...args: ReadonlyArray<string>) => reins(operator, args, env)
  let caller: Promise<Caller> | undefined
  return {
    env,
    command,
    machine: async (name, settings = {}, disk = name) => {
      const dataDir = join(place.directory, disk)
      const port = await steadyPort()
      const args = ["--node", name, "--node-address", `http://127.0.0.1:${port}`, "--port", String(port)]
      const start = async (program?: string) => {
        const server = spawnServer({ dataDir, args, env: { ...ofNode, ...settings }, program })
        return { ...server, url: await server.ready }
      }
      return { name, dataDir, start }
    },
    list: () =>
      command("node", "list", "--json")
        .stdout.trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
    caller: (server) => {
      caller ??= newCaller(server, operator, place.gateway, env)
      return caller
    }
  }
}
