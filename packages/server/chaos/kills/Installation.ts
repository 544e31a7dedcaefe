import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { remote, token } from "@reins/testing/changes/Fixture"
import { agentsIn, endEach } from "@reins/testing/executor/Processes"
import { newKey } from "@reins/testing/process/Caller"
import { Ledger } from "@reins/testing/process/Ledger"
import { steadyPort } from "@reins/testing/process/Ports"
import { eventually } from "@reins/testing/process/Waiting"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Exit, Redacted, Schema, Scope } from "effect"
import { type ChatMessage, type Gateway, type Step, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { conflictSteps } from "../agent/conflict.mjs"
import { agent } from "../Volume.js"
import { installedAgent } from "./InstalledAgent.js"
import { type MailServer, startMailServer } from "./MailServer.js"
import { postgresRecords, type Records, sqliteRecords } from "./Records.js"
import { type Seat, Servers } from "./Servers.js"

export type DatabaseName = "SQLite" | "PostgreSQL"

type Origin = Effect.Effect.Success<ReturnType<typeof remote>>

/** The time that anything may take that comes about by itself. */
const patienceMs = 120_000

/** Another node goes on with the work of one that was killed as soon as that has lost its lease. A claim does not end before. */
const takenOverSoon = { REINS_LEASE_SECONDS: "10", REINS_NODE_RECLAIM_SECONDS: "0" }

/** The choices for a new installation. */
export interface Making {
  /** True for servers that `crash` can kill, without the one that is published. */
  readonly failpoints: boolean
  /** The names of the nodes; none for one server, which is none. */
  readonly nodes?: ReadonlyArray<string>
  /** The program that replaces the agent of alpha. */
  readonly agent?: string | undefined
}

/** The services that the servers of an installation use. */
interface Around {
  readonly gateway: Gateway
  readonly origin: Origin
  readonly mail: MailServer
  readonly records: Records
  readonly databaseUrl: string | undefined
  readonly outside: Scope.CloseableScope
}

/**
 * An installation whose server can be killed and started again, with everything around it: a model gateway, a forge with a git
 * repository, a mail server, clients that never give up, and a look into its database.
 */
export class Installation {
  readonly ledger: Ledger
  readonly url: string
  readonly gateway: Gateway
  readonly origin: Origin
  readonly mail: MailServer
  readonly records: Records
  private key = ""
  /** The personal workspace of the owner. */
  workspaceId = ""
  /** The processes of agents that the last kill left behind. */
  orphans: ReadonlyArray<number> = []
  /** The connection to the forge. */
  forgeConnectionId = ""

  private constructor(
    readonly database: DatabaseName,
    /** The directory of the data, or that of the nodes' directories. */
    readonly dataDir: string,
    readonly servers: Servers,
    private readonly around: Around,
    private readonly env: Readonly<Record<string, string>>
  ) {
    const urls = servers.seats.map(({ port }) => `http://127.0.0.1:${port}`)
    this.url = urls[0] ?? ""
    this.ledger = urls.length === 1 ? new Ledger() : new Ledger({ urls, tryMs: 60_000 })
    this.gateway = around.gateway
    this.origin = around.origin
    this.mail = around.mail
    this.records = around.records
  }

  static async start(database: DatabaseName, making: Making): Promise<Installation> {
    const { failpoints, nodes = [] } = making
    const dataDir = mkdtempSync(join(tmpdir(), "reins-chaos-"))
    const outside = Effect.runSync(Scope.make())
    const origin = await Effect.runPromise(Scope.extend(remote("github"), outside))
    // Every update of a branch leaves a line, so that one made twice is seen.
    origin.git("config", "core.logAllRefUpdates", "always")
    const databaseUrl =
      database === "PostgreSQL"
        ? Redacted.value(await Effect.runPromise(Scope.extend(postgresDatabase, outside)))
        : undefined
    const records = databaseUrl === undefined ? sqliteRecords(dataDir) : postgresRecords(databaseUrl)
    const [gateway, mail] = [await startGateway({ plan: planOf }), await startMailServer()]
    const env = {
      REINS_SMTP_URL: mail.url,
      REINS_MAIL_FROM: "Reins <reins@example.com>",
      // Agents run without a sandbox, and programs of projects in one. The paths of several nodes are the same in a sandbox alone.
      REINS_EXECUTOR: nodes.length > 0 ? "bubblewrap" : "local,bubblewrap",
      // Where every life is short, agents that start all at once would never get to work.
      ...(!failpoints && { REINS_MAX_RUNNING_TURNS: "2" }),
      ...(databaseUrl !== undefined && { REINS_DATABASE_URL: databaseUrl }),
      ...(nodes.length > 0 && { REINS_KEY_FILE: join(dataDir, "keyring.json") })
    }
    const seats: Array<Seat> = []
    for (const node of nodes) seats.push({ node, dataDir: join(dataDir, node), port: await steadyPort() })
    if (nodes.length === 0) seats.push({ dataDir, port: await steadyPort() })
    const program = "agent" in making ? making.agent : agent
    const inSandbox = program !== undefined && nodes.length > 0 ? installedAgent(dataDir, program) : undefined
    const ofServers = { ...env, ...(nodes.length > 0 && takenOverSoon), ...inSandbox?.env }
    const starting = { env: ofServers, agent: inSandbox?.agent ?? program, failpoints, directory: dataDir }
    const servers = new Servers(seats, starting)
    const around = { gateway, origin, mail, records, databaseUrl, outside }
    const installation = new Installation(database, dataDir, servers, around, env)
    try {
      await servers.start()
      installation.key = installation.newAccount("owner@example.com")
      await installation.connect()
    } catch (error) {
      await installation.end()
      throw error
    }
    return installation
  }

  async end(): Promise<void> {
    await this.servers.kill()
    // No server comes after this one, which would end them.
    endEach(this.agents())
    await this.gateway.close()
    await this.mail.close()
    await Effect.runPromise(Scope.close(this.around.outside, Exit.void))
    rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 5 })
  }

  /** A client with every scope. What it changes is in the ledger. */
  get api(): Reins {
    return new Reins({ baseUrl: this.url, apiKey: this.key, fetch: this.ledger.fetch, timeoutMs: 2 * patienceMs })
  }

  /** Makes an account, and gives a key of it. */
  newAccount(email: string): string {
    return newKey(this.servers.seats[0]?.dataDir ?? this.dataDir, this.env, email)
  }

  /** A client that nobody knows. */
  get stranger(): Reins {
    return new Reins({ baseUrl: this.url, fetch: this.ledger.fetch, timeoutMs: 2 * patienceMs })
  }

  /** Starts the server unless it runs. */
  startServer(): Promise<void> {
    return this.servers.start()
  }

  /** Kills the server at once, and starts it again. */
  async kill(): Promise<void> {
    await this.servers.kill()
    await this.servers.start()
  }

  /** Does something during which the server is killed at the n-th passage of a point and started again, and sees it through. */
  async crash<A>(point: string, act: () => Promise<A>): Promise<A> {
    const server = this.servers.first
    this.servers.arm(point)
    const acted = act()
    // Its end is looked at below, once the server is back.
    acted.catch(() => {})
    const end = await soon(server.ended, `The point ${point} was not passed:\n${server.log()}`)
    this.orphans = this.agents()
    if (end.signal !== "SIGKILL") throw new Error(`The server ended by itself (${end.code}):\n${server.log()}`)
    await this.startServer()
    const result = await acted
    await this.settled()
    return result
  }

  /** The processes of agents. */
  agents(): ReadonlyArray<number> {
    return this.servers.seats.flatMap(({ dataDir }) => agentsIn(dataDir))
  }

  /** Waits until no job has anything left to do but those of turns that a person holds up, and the deadlines of delegations. */
  async settled(): Promise<void> {
    const open = () =>
      this.records.all(
        Schema.Struct({ id: Schema.String, kind: Schema.String, state: Schema.String, error: Schema.Unknown }),
        "select id, kind, state, error from jobs where state in ('queued', 'running', 'retry_wait') and held = 0 and kind != 'delegation.deadline'"
      )
    await this.until(async () => (await open()).length === 0, "the jobs to end")
  }

  /** The turns of which a condition holds. */
  turns(condition: string): Promise<ReadonlyArray<{ readonly id: string; readonly state: string }>> {
    const row = Schema.Struct({ id: Schema.String, state: Schema.String })
    return this.records.all(row, `select id, state from turns where ${condition}`)
  }

  /** Looks again and again until something is so. */
  async until(isSo: () => Promise<boolean> | boolean, what: string): Promise<void> {
    await eventually(what, isSo, patienceMs).catch((error: unknown) => {
      throw new Error(`${error}\n${this.log()}`)
    })
  }

  /** The standard error of the servers that run. */
  log(): string {
    return this.servers.log()
  }

  private async connect(): Promise<void> {
    this.workspaceId = (await this.api.accounts.getMe()).workspaces[0]?.id ?? ""
    await this.api.connections.create({
      workspace_id: this.workspaceId,
      kind: "alpha_gateway",
      label: "gateway",
      credential: { base_url: this.gateway.url, api_key: "k" }
    })
    const forge = await this.api.connections.create({
      workspace_id: this.workspaceId,
      kind: "github",
      label: "forge",
      credential: { base_url: this.origin.base, token }
    })
    this.forgeConnectionId = forge.id
  }
}

/** The steps of the model for a message without a script: it resolves conflicts. */
const planOf = (messages: ReadonlyArray<ChatMessage>): Array<Step> | null =>
  conflictSteps(messages.findLast(({ role }) => role === "user")?.text ?? "")

const soon = async <A>(promise: Promise<A>, otherwise: string): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(otherwise)), patienceMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
