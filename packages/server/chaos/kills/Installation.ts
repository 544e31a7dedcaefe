import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { remote, token } from "@reins/testing/changes/Fixture"
import { agentsIn, endEach } from "@reins/testing/executor/Processes"
import { newKey } from "@reins/testing/process/Caller"
import { Ledger } from "@reins/testing/process/Ledger"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Exit, Redacted, Schema, Scope } from "effect"
import { type Gateway, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { agent } from "../Volume.js"
import { type MailServer, startMailServer } from "./MailServer.js"
import { postgresRecords, type Records, sqliteRecords } from "./Records.js"

export type DatabaseName = "SQLite" | "PostgreSQL"

type Origin = Effect.Effect.Success<ReturnType<typeof remote>>

/** The time that anything may take that comes about by itself. */
const patienceMs = 120_000

/**
 * An installation whose server can be killed and started again, with everything around it: a model gateway, a forge with a git
 * repository, a mail server, clients that never give up, and a look into its database.
 */
export class Installation {
  readonly ledger = new Ledger()
  readonly url: string
  private server: ServerProcess | undefined
  private key = ""
  /** The personal workspace of the owner. */
  workspaceId = ""
  /** The processes of agents that the last kill left behind. */
  orphans: ReadonlyArray<number> = []
  /** The connection to the forge. */
  forgeConnectionId = ""

  private constructor(
    readonly database: DatabaseName,
    private readonly failpoints: boolean,
    readonly dataDir: string,
    readonly port: number,
    readonly gateway: Gateway,
    readonly origin: Origin,
    readonly mail: MailServer,
    readonly records: Records,
    private readonly databaseUrl: string | undefined,
    private readonly outside: Scope.CloseableScope
  ) {
    this.url = `http://127.0.0.1:${port}`
  }

  /** With `failpoints` it is the server that `crash` can kill, without the one that is published. */
  static async start(database: DatabaseName, { failpoints }: { readonly failpoints: boolean }): Promise<Installation> {
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
    const [port, gateway, mail] = [await steadyPort(), await startGateway(), await startMailServer()]
    const installation = new Installation(
      database,
      failpoints,
      dataDir,
      port,
      gateway,
      origin,
      mail,
      records,
      databaseUrl,
      outside
    )
    await installation.startServer()
    installation.key = newKey(dataDir, installation.env)
    await installation.connect()
    return installation
  }

  async end(): Promise<void> {
    this.server?.kill("SIGKILL")
    await this.server?.ended
    // No server comes after this one, which would end them.
    endEach(agentsIn(this.dataDir))
    await this.gateway.close()
    await this.mail.close()
    await Effect.runPromise(Scope.close(this.outside, Exit.void))
    rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 5 })
  }

  /** A client with every scope. What it changes is in the ledger. */
  get api(): Reins {
    return new Reins({ baseUrl: this.url, apiKey: this.key, fetch: this.ledger.fetch, timeoutMs: 2 * patienceMs })
  }

  /** Makes an account, and gives a key of it. */
  newAccount(email: string): string {
    return newKey(this.dataDir, this.env, email)
  }

  /** A client that nobody knows. */
  get stranger(): Reins {
    return new Reins({ baseUrl: this.url, fetch: this.ledger.fetch, timeoutMs: 2 * patienceMs })
  }

  /** Starts the server unless it runs. */
  async startServer(): Promise<void> {
    if (this.server !== undefined && (await Promise.race([this.server.ended, "running"])) === "running") return
    this.disarm()
    this.server = await startServer({
      dataDir: this.dataDir,
      agent,
      ...(this.failpoints && { failpointFile: this.failpointFile }),
      args: ["--port", String(this.port)],
      env: this.env
    })
  }

  /** Kills the server at once, and starts it again. */
  async kill(): Promise<void> {
    this.server?.kill("SIGKILL")
    await this.server?.ended
    await this.startServer()
  }

  /** Does something during which the server is killed at the n-th passage of a point and started again, and sees it through. */
  async crash<A>(point: string, act: () => Promise<A>): Promise<A> {
    const server = this.server
    if (server === undefined) throw new Error("There is no server to be killed")
    writeFileSync(this.failpointFile, point)
    const acted = act()
    // Its end is looked at below, once the server is back.
    acted.catch(() => {})
    const end = await soon(server.ended, `The point ${point} was not passed:\n${server.log()}`)
    this.orphans = agentsIn(this.dataDir)
    if (end.signal !== "SIGKILL") throw new Error(`The server ended by itself (${end.code}):\n${server.log()}`)
    await this.startServer()
    const result = await acted
    await this.settled()
    return result
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

  /** The standard error of the server that runs. */
  log(): string {
    return this.server?.log() ?? ""
  }

  private disarm(): void {
    rmSync(this.failpointFile, { force: true })
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

  private get env(): Readonly<Record<string, string>> {
    return {
      REINS_SMTP_URL: this.mail.url,
      REINS_MAIL_FROM: "Reins <reins@example.com>",
      // Agents run without a sandbox, and programs of projects in one.
      REINS_EXECUTOR: "local,bubblewrap",
      // Where every life is short, agents that start all at once would never get to work.
      ...(!this.failpoints && { REINS_MAX_RUNNING_TURNS: "2" }),
      ...(this.databaseUrl !== undefined && { REINS_DATABASE_URL: this.databaseUrl })
    }
  }

  private get failpointFile(): string {
    return join(this.dataDir, "failpoint")
  }
}

const soon = async <A>(promise: Promise<A>, otherwise: string): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(otherwise)), patienceMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
