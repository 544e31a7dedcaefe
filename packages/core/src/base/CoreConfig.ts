import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { Context, Layer, type Redacted } from "effect"
import { type CoreLimits, defaultLimits } from "./CoreLimits.js"

/** What the core is told by whoever runs it. Paths are absolute. */
export class CoreConfig extends Context.Tag("@reins/core/base/CoreConfig")<
  CoreConfig,
  {
    /** Holds the database (with SQLite), the sessions and the outbox. Only this service's user may read it. */
    readonly dataDir: string
    /** Holds the installed agents; may be shared between installations. */
    readonly cacheDir: string
    /** The key ring that seals credentials; made with one key when it is not there. */
    readonly keyFile: string
    /** Where people reach the service; links in mails begin with it. Without a trailing slash. */
    readonly publicUrl: string
    /** An SMTP URL; null writes mails as files to the outbox. */
    readonly smtpUrl: Redacted.Redacted | null
    /** The sender of mails sent through SMTP. */
    readonly mailFrom: string
    /** Whether repositories may be paths of this machine. Everybody who can create a session can then read what the service can. */
    readonly allowLocalRepositories: boolean
    /**
     * Hosts that may be asked although they are on a private network or without TLS: gateways and forges that users name.
     * Each is `host`, `host:port`, or `*` for all. Everybody who can create a connection can then reach them.
     */
    readonly allowPrivateHosts: ReadonlyArray<string>
    /** Turns that run at once. */
    readonly maxRunningTurns: number
    /** The longest that one turn may take, in milliseconds. */
    readonly turnDeadlineMs: number
    /** How long an agent waits for an answer of a person, in milliseconds. */
    readonly interactionExpiryMs: number
    /** How long an executor may go unused before it is released, in milliseconds. Its workspace stays. */
    readonly idleReleaseMs: number
    /** The lifetime of a claim on a job, in milliseconds: others take over what a worker has not renewed for so long. */
    readonly leaseMs: number
    /** The limits in force. */
    readonly limits: CoreLimits
  }
>() {
  /** A complete configuration from what is given; only the data directory has no default. */
  static readonly from = ({
    dataDir,
    limits,
    ...given
  }: Partial<Omit<CoreConfig["Type"], "dataDir" | "limits">> & {
    readonly dataDir: string
    readonly limits?: Partial<CoreLimits>
  }): CoreConfig["Type"] => ({
    dataDir: resolve(dataDir),
    cacheDir: join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "reins"),
    keyFile: join(resolve(dataDir), "keyring.json"),
    publicUrl: "http://127.0.0.1:7117",
    smtpUrl: null,
    mailFrom: "Reins <reins@localhost>",
    allowLocalRepositories: false,
    allowPrivateHosts: [],
    maxRunningTurns: 8,
    turnDeadlineMs: 60 * 60 * 1000,
    interactionExpiryMs: 10 * 60 * 1000,
    idleReleaseMs: 15 * 60 * 1000,
    leaseMs: 30_000,
    limits: { ...defaultLimits, ...limits },
    ...given
  })

  /** The given configuration, with defaults for what it leaves out. */
  static readonly layer = (given: Parameters<typeof CoreConfig.from>[0]) =>
    Layer.sync(CoreConfig, () => CoreConfig.from(given))
}
