import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"

/** A server of an installation, which starts again on its data directory and port. */
export interface Seat {
  readonly dataDir: string
  readonly port: number
  /** Its name as a node; none when it is the only server. */
  readonly node?: string
}

/** The settings of each start of a server. */
export interface Starting {
  readonly env: Readonly<Record<string, string>>
  readonly agent: string | undefined
  /** True for the server with points, without the one that is published. */
  readonly failpoints: boolean
  /** The file that names the point. All servers read the same. */
  readonly directory: string
}

/** The servers of an installation, which are killed at named points and started again. */
export class Servers {
  private readonly running = new Map<Seat, ServerProcess>()

  constructor(
    readonly seats: ReadonlyArray<Seat>,
    private readonly starting: Starting
  ) {}

  /** Starts every server that does not run. */
  async start(): Promise<void> {
    // The first one makes the tables.
    for (const seat of this.seats) {
      if (this.running.has(seat)) continue
      this.disarm()
      await this.startAt(seat)
    }
  }

  /** Has one server run, and no other. */
  async startOne(): Promise<void> {
    const [, ...others] = this.running.values()
    for (const server of others) await end(server)
    const [seat] = this.seats
    if (this.running.size > 0 || seat === undefined) return
    this.disarm()
    await this.startAt(seat)
  }

  /** Kills every server at once. */
  async kill(): Promise<void> {
    await Promise.all([...this.running.values()].map(end))
  }

  /** The processes of the servers that run. */
  get pids(): ReadonlyArray<number> {
    return [...this.running.values()].map(({ pid }) => pid)
  }

  /** The one that is killed where there is no other. */
  get first(): ServerProcess {
    const [server] = this.running.values()
    if (server === undefined) throw new Error("There is no server to be killed")
    return server
  }

  /** The standard error of the servers that run. */
  log(): string {
    return [...this.running.values()].map((server) => server.log()).join("\n")
  }

  /** Names the point at which a server is killed, as `name:passage`, or at which each that comes is held, as `name*`. */
  arm(point: string): void {
    writeFileSync(this.failpointFile, point)
  }

  disarm(): void {
    rmSync(this.failpointFile, { force: true })
  }

  /** The process of each that is held, once for each. */
  held(): ReadonlyArray<number> {
    if (!existsSync(this.heldFile)) return []
    return readFileSync(this.heldFile, "utf8").trim().split("\n").map(Number)
  }

  /**
   * Kills the servers that hold somebody, one after the other. Where no other server runs, it starts again before the next one is killed. Gives the
   * number that was held.
   */
  async killHolders(): Promise<number> {
    this.disarm()
    const killed = new Set<number>()
    for (;;) {
      const pid = this.held().find((each) => !killed.has(each))
      if (pid === undefined) break
      killed.add(pid)
      const [seat, server] = [...this.running].find(([, server]) => server.pid === pid) ?? []
      if (seat === undefined || server === undefined) throw new Error(`No server is the process ${pid}`)
      await end(server)
      this.running.delete(seat)
      if (this.running.size === 0) await this.startAt(seat)
    }
    const count = this.held().length
    rmSync(this.heldFile, { force: true })
    return count
  }

  private async startAt(seat: Seat): Promise<void> {
    const { dataDir, node, port } = seat
    const { agent, env, failpoints } = this.starting
    const ofNode = node === undefined ? [] : ["--node", node, "--node-address", `http://127.0.0.1:${port}`]
    const server = await startServer({
      dataDir,
      agent,
      ...(failpoints && { failpointFile: this.failpointFile }),
      args: ["--port", String(port), ...ofNode],
      env
    })
    this.running.set(seat, server)
    void server.ended.then(() => {
      if (this.running.get(seat) === server) this.running.delete(seat)
    })
  }

  private get failpointFile(): string {
    return join(this.starting.directory, "failpoint")
  }

  private get heldFile(): string {
    return `${this.failpointFile}.held`
  }
}

const end = async (server: ServerProcess): Promise<void> => {
  server.kill("SIGKILL")
  await server.ended
}
