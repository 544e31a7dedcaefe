import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { remote, token } from "@reins/testing/changes/Fixture"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { type PostgresCluster, startCluster } from "@reins/testing/process/PostgresCluster"
import { type ServerProcess, spawnServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Exit, Scope } from "effect"
import pg from "pg"
import { type Gateway, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { type Box, childOf, type Host, type Network, newBox, newNetwork } from "./Network.js"

/** The disk of a machine, in bytes. */
const diskBytes = 48 * 1024 * 1024

const library = readdirSync("/usr/lib")
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

/** A node of the installation on a machine of its own. */
export interface Node {
  readonly name: string
  readonly host: Host
  readonly box: Box
  readonly url: string
  /** Its data directory, which is all of a small disk. */
  readonly dataDir: string
  /** Sets the clock of the machine so many seconds ahead of the others. */
  readonly setClock: (seconds: number) => void
  readonly start: () => Promise<void>
  /** Sends a signal to its server. */
  readonly signal: (signal: NodeJS.Signals) => Promise<void>
  readonly log: () => string
  /** Makes the next passage of a point wait. */
  readonly hold: (point: string) => Promise<() => Promise<void>>
  /** Lets everybody go on who waits. */
  readonly release: () => void
}

/** A forge with a repository, to which each push is recorded. */
type Origin = Effect.Effect.Success<ReturnType<typeof remote>>

/** An installation: three nodes, a PostgreSQL, a model gateway and a caller, each on a machine of its own. */
export interface Rig {
  readonly nodes: readonly [Node, Node, Node]
  readonly database: { readonly host: Host; readonly cluster: PostgresCluster }
  readonly gateway: Gateway
  readonly origin: Origin
  readonly caller: Caller
  /** Asks the database behind the back of the installation. */
  readonly query: <Row extends pg.QueryResultRow>(text: string, values?: ReadonlyArray<unknown>) => Promise<Array<Row>>
  readonly end: () => Promise<void>
}

/** Starts an installation. `prepare` runs on the database once the first node has made its schema. */
export const startRig = async (prepare: string): Promise<Rig> => {
  const directory = mkdtempSync(join(tmpdir(), ".reins-faults-"))
  const network = newNetwork()
  const gateway = await startGateway({ host: network.address })
  const host = network.host("pg")
  const launcher = ["ip", "netns", "exec", host.namespace]
  const cluster = await startCluster({ host: host.address, launcher, settings: ["max_connections=200"] })
  const database = { host, cluster }
  const url = await cluster.newDatabase("reins")
  const env = {
    REINS_DATABASE_URL: url,
    REINS_KEY_FILE: join(directory, "keyring.json"),
    REINS_CACHE_DIR: cacheWithSmallAgent(directory),
    REINS_EXECUTOR: "bubblewrap",
    REINS_ALLOW_PRIVATE_HOSTS: "*",
    // Several machines need a mail server, and nobody is mailed here.
    REINS_SMTP_URL: "smtp://127.0.0.1:9",
    REINS_NODE_RECLAIM_SECONDS: "0"
  }
  const node = (name: string) => newNode(network, directory, name, env)
  const nodes = [await node("a"), await node("b"), await node("c")] as const
  const query = querying(url)
  const [first, ...others] = nodes
  await first.start()
  await query(prepare)
  await Promise.all(others.map(({ start }) => start()))
  const operator = join(directory, "operator")
  mkdirSync(operator)
  // The commands of an operator and the connections of a caller know nothing of nodes.
  const { REINS_DATABASE_URL, REINS_KEY_FILE } = env
  const reached = { url: `http://${network.address}:${gateway.port}/v1` }
  const caller = await newCaller(first, operator, reached, { REINS_DATABASE_URL, REINS_KEY_FILE })
  const outside = Effect.runSync(Scope.make())
  const origin = await Effect.runPromise(Scope.extend(remote("github", network.address), outside))
  origin.git("config", "core.logAllRefUpdates", "always")
  const { workspaceId: workspace_id } = caller
  const credential = { base_url: origin.base, token }
  await caller.at(first).connections.create({ workspace_id, kind: "github", label: "forge", credential })
  const end = async () => {
    for (const { box } of nodes) box.off()
    await gateway.close()
    await Effect.runPromise(Scope.close(outside, Exit.void))
    await cluster.stop()
    network.remove()
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  return { nodes, database, gateway, origin, caller, query, end }
}

const querying =
  (connectionString: string): Rig["query"] =>
  async (text, values = []) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    try {
      return (await client.query(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

const newNode = async (
  network: Network,
  directory: string,
  name: string,
  env: Readonly<Record<string, string>>
): Promise<Node> => {
  const host = network.host(name)
  const dataDir = join(directory, name)
  const box = await newBox(host, dataDir, diskBytes)
  const url = `http://${host.address}:7117`
  const holds = join(directory, `holds-${name}`)
  const clock = join(directory, `clock-${name}`)
  mkdirSync(holds)
  writeFileSync(clock, "+0")
  const ofClock = {
    LD_PRELOAD: library ?? "no libfaketime",
    DONT_FAKE_MONOTONIC: "1",
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: "1"
  }
  let server: ServerProcess | undefined
  const logs: Array<string> = []
  return {
    name,
    host,
    box,
    url,
    dataDir,
    setClock: (seconds) => writeFileSync(clock, `${seconds < 0 ? "" : "+"}${seconds}`),
    start: async () => {
      if (server !== undefined) logs.push(server.log())
      const starting = spawnServer({
        dataDir,
        breakable: true,
        launcher: [...box.launcher],
        args: ["--node", name, "--node-address", url, "--host", host.address, "--port", "7117"],
        env: { ...env, ...ofClock, REINS_FAILPOINT_HOLDS: holds }
      })
      server = { ...starting, url: await starting.ready }
    },
    signal: async (signal) => {
      if (server === undefined) throw new Error(`${name} was not started`)
      // The program that enters the machine waits for it.
      process.kill(await childOf(server.pid), signal)
      if (signal === "SIGKILL" || signal === "SIGTERM") await server.ended
    },
    log: () => [...logs, server?.log() ?? ""].join("\n"),
    hold: async (point) => {
      const file = join(holds, point)
      writeFileSync(file, "")
      return () => eventually(`somebody comes to ${point}`, () => existsSync(`${file}.held`)).then(() => undefined)
    },
    release: () => {
      for (const file of readdirSync(holds)) rmSync(join(holds, file))
    }
  }
}
