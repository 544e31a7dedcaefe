import { availableParallelism } from "node:os"
import { join, resolve } from "node:path"
import { Context, Layer, type Redacted } from "effect"
import type { GitIdentity } from "../domain/GitIdentity.js"
import { type AgentLimits, defaultAgentLimits } from "./AgentLimits.js"
import type { BlobAddress } from "./BlobAddress.js"
import { type CoreLimits, defaultLimits } from "./CoreLimits.js"
import type { Egress } from "./Egress.js"
import { homeDirectory } from "./HomeDirectory.js"

/** The ways to run agents that are part of Reins. */
export const builtInExecutors = ["bubblewrap", "container", "local"] as const
/** The name of a way to run agents that is part of Reins. */
export type BuiltInExecutor = (typeof builtInExecutors)[number]

/** The settings of the core. Paths are absolute. */
export class CoreConfig extends Context.Tag("@reins/core/base/CoreConfig")<
  CoreConfig,
  {
    /** Holds the database (with SQLite), the sessions and the outbox. Only this service's user may read it. */
    readonly dataDir: string
    /** Holds the installed agents. Installations may share it. */
    readonly cacheDir: string
    /** The file of the key ring that seals credentials. It is made with one key when it does not exist. */
    readonly keyFile: string
    /** The URL of the service as people reach it, without a slash at the end. Links in mails begin with it. */
    readonly publicUrl: string
    /** An SMTP URL. Null writes mails as files to the outbox. */
    readonly smtpUrl: Redacted.Redacted | null
    /** The sender of mails sent through SMTP. */
    readonly mailFrom: string
    /** The committer of the commits that the service makes, and their author where no account is one. Forges verify signatures by its address. */
    readonly gitCommitter: GitIdentity
    /** The private key with which the service proves to push services who it is. Null tells no browser. */
    readonly pushKey: Redacted.Redacted | null
    /** True allows repositories that are paths of this machine. Everybody who can create a session can then read what the service can. */
    readonly allowLocalRepositories: boolean
    /** True allows repositories through SSH, with the keys of connections of the kind `git_ssh` and no other. */
    readonly allowSshRepositories: boolean
    /**
     * Gateways, forges and git servers that may be on a private network or without TLS. Each is `host`, `host:port`, or `*` for all. Everybody who can
     * create a connection can then reach them.
     */
    readonly allowPrivateHosts: ReadonlyArray<string>
    /** The proxy through which the service and its agents connect, for a machine that has no other way out. Null connects directly. */
    readonly egress: Egress | null
    /** Directories of this machine that every agent may read, in a sandbox too. Agents that take further roots are told of them. */
    readonly sharedDirectories: ReadonlyArray<string>
    /** The number of turns that run at once. */
    readonly maxRunningTurns: number
    /** The longest time that one turn may take, in milliseconds. */
    readonly turnDeadlineMs: number
    /** The time that an agent waits for the answer of a person, in milliseconds. */
    readonly interactionExpiryMs: number
    /** An executor that is not used for so many milliseconds is released. Its workspace stays. */
    readonly idleReleaseMs: number
    /** An agent that has ended its turn is kept for so many milliseconds, ready for the next one. 0 stops it after each turn. */
    readonly agentIdleMs: number
    /** The number of agents that are kept between their turns. Beyond it the one that was used least recently is stopped. */
    readonly maxIdleAgents: number
    /** The bytes of the machine's memory that agents between their turns leave free. While less is available they are stopped. 0 stops none. */
    readonly agentFreeMemory: number
    /** True starts the agent of a session when the session is made, where one more can be kept, so that its first turn need not wait for it. */
    readonly prewarm: boolean
    /** A snapshot of a setup is kept until no session has used it for so many days. */
    readonly setupSnapshotDays: number
    /** The bytes that the kept results of setups may take together. Beyond them those that were used least recently go. */
    readonly setupSnapshotBytes: number
    /** The place where snapshots of sessions are kept, so that another machine can go on with them. Null makes no snapshots. */
    readonly blobs: BlobAddress | null
    /** The lifetime of a claim on a job, in milliseconds. Others take over a job whose worker has not renewed its claim for so long. */
    readonly leaseMs: number
    /**
     * The ways to run agents that are part of Reins, in order of preference. Those that do not work on this machine are left out, and the
     * first one that is left is the default. Null is `bubblewrap` alone where it works, and `local` alone elsewhere.
     */
    readonly executors: ReadonlyArray<BuiltInExecutor> | null
    /** The image of the executor `container`, as `repository@sha256:...` or as the id `sha256:...`. Null names none, and that executor is not there. */
    readonly containerImage: string | null
    /** The container engine; null is the first of Podman and Docker that is installed. */
    readonly containerEngine: "podman" | "docker" | null
    /** The most that one agent may take of the machine, where its executor can hold it to that. */
    readonly agentLimits: AgentLimits
    /** Those who may enable agents that are part of Reins and off: every owner of a workspace, or the operator alone, on the machine itself. */
    readonly agentsBy: "owners" | "operator"
    /** The bounds on sizes and counts. */
    readonly limits: CoreLimits
  }
>() {
  /** A complete configuration. Every setting but the data directory has a default. */
  static readonly from = ({
    agentLimits,
    dataDir,
    limits,
    ...given
  }: Partial<Omit<CoreConfig["Type"], "agentLimits" | "dataDir" | "limits">> & {
    readonly dataDir: string
    readonly agentLimits?: Partial<AgentLimits>
    readonly limits?: Partial<CoreLimits>
  }): CoreConfig["Type"] => ({
    dataDir: resolve(dataDir),
    cacheDir: defaultCacheDir(resolve(dataDir)),
    keyFile: join(resolve(dataDir), "keyring.json"),
    publicUrl: "http://127.0.0.1:7117",
    smtpUrl: null,
    mailFrom: "Reins <reins@localhost>",
    gitCommitter: { name: "Reins", email: "reins@localhost" },
    pushKey: null,
    allowLocalRepositories: false,
    allowSshRepositories: false,
    allowPrivateHosts: [],
    egress: null,
    sharedDirectories: [],
    maxRunningTurns: 8,
    turnDeadlineMs: 60 * 60 * 1000,
    interactionExpiryMs: 10 * 60 * 1000,
    idleReleaseMs: 15 * 60 * 1000,
    agentIdleMs: 5 * 60 * 1000,
    maxIdleAgents: 8 * availableParallelism(),
    agentFreeMemory: Math.floor(process.availableMemory() / 2),
    prewarm: true,
    setupSnapshotDays: 14,
    setupSnapshotBytes: 20 * 1024 ** 3,
    blobs: null,
    leaseMs: 30_000,
    executors: null,
    containerImage: null,
    containerEngine: null,
    agentsBy: "operator",
    agentLimits: { ...defaultAgentLimits, ...agentLimits },
    limits: { ...defaultLimits, ...limits },
    ...given
  })

  /** The given configuration, with defaults for what it leaves out. */
  static readonly layer = (given: Parameters<typeof CoreConfig.from>[0]) =>
    Layer.sync(CoreConfig, () => CoreConfig.from(given))
}

/** Below `XDG_CACHE_HOME` or `~/.cache`; in the data directory for a user without a home. */
const defaultCacheDir = (dataDir: string): string => {
  const home = homeDirectory()
  const caches = process.env["XDG_CACHE_HOME"] ?? (home === undefined ? undefined : join(home, ".cache"))
  return caches === undefined ? join(dataDir, "cache") : join(caches, "reins")
}
