import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { AgentLimits } from "@reins/base/base/AgentLimits"
import type { BlobAddress } from "@reins/base/base/BlobAddress"
import type { BuiltInExecutor } from "@reins/base/base/CoreConfig"
import type { CoreLimits } from "@reins/base/base/CoreLimits"
import type { Egress } from "@reins/base/base/Egress"
import { fn } from "@reins/base/base/Traced"
import { defaultLeaseSeconds } from "@reins/core/placement/LeaseTimes"
import type { NodeRole } from "@reins/core/placement/Nodes"
import { severalHosts } from "@reins/core/store/PgHosts"
import { Data, Effect, LogLevel, ParseResult, Redacted, Schema } from "effect"
import { fields, flagOf, type Given, type SettingName, Settings } from "./ConfigFields.js"
import { isShareable } from "./SettingValues.js"

export { flagOf, type Given, type SettingName } from "./ConfigFields.js"

/** A setting that cannot be used. The message names it and a valid value, and does not quote the given one, which may be a secret. */
export class ConfigInvalid extends Data.TaggedError("ConfigInvalid")<{ readonly problem: string }> {
  override get message() {
    return this.problem
  }
}

/** A machine that is one of several. */
export interface NodeConfig {
  readonly name: string
  /** The address at which the other nodes reach it. */
  readonly address: URL
  readonly role: NodeRole
  /** The time after its last renewal for which the lease of the node is good. */
  readonly leaseSeconds: number
  /** The time after the end of a lost node's lease from which on its sessions may go to other nodes. */
  readonly reclaimSeconds: number
  /** The time for which a node that is told to stop gives its sessions away first. */
  readonly drainSeconds: number
}

/** The configuration in force. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** A PostgreSQL database; undefined for SQLite in the data directory. */
  readonly databaseUrl: Redacted.Redacted | undefined
  /** The most connections to PostgreSQL that are open, besides the one of the bell. */
  readonly databaseConnections: number
  /** One of several machines; undefined for one alone. */
  readonly node: NodeConfig | undefined
  /** The place of the snapshots of sessions; null without snapshots. */
  readonly blobs: BlobAddress | null
  readonly publicUrl: URL
  readonly keyFile: string | undefined
  readonly cacheDir: string | undefined
  /** A directory of manifests. Each adds a provider or replaces one. */
  readonly manifestsDir: string | undefined
  /** Those who may enable agents that are part of Reins. By default owners may where nobody else can reach the server. */
  readonly agentsBy: "owners" | "operator"
  readonly smtpUrl: Redacted.Redacted | undefined
  readonly mailFrom: string | undefined
  /** A name with an address in angle brackets. */
  readonly gitCommitter: string | undefined
  /** The private key with which the server proves to push services who it is. */
  readonly pushKey: Redacted.Redacted | undefined
  /** Requests a minute for each caller; null for any number. */
  readonly rateLimit: number | null
  /** True when the console is served at `/ui`. */
  readonly console: boolean
  /** True when editors are served at `/acp`. */
  readonly acp: boolean
  /** True when `GET /metrics` is served. It needs no credentials, so by default it is served only where nobody else can reach it. */
  readonly metrics: boolean
  readonly logLevel: LogLevel.LogLevel
  /** The ways to run agents, in order of preference. Null is the sandbox where it works, and elsewhere agents without one. */
  readonly executors: ReadonlyArray<BuiltInExecutor> | null
  /** The image of the executor `container`, by its digest. */
  readonly containerImage: string | undefined
  readonly containerEngine: "podman" | "docker" | undefined
  /** The limits on one agent that were set. */
  readonly agentLimits: Partial<AgentLimits>
  readonly allowLocalRepositories: boolean
  /** True when git may go through SSH, with the keys of connections. */
  readonly allowSshRepositories: boolean
  /** Hosts that may be asked although they are private or without TLS. */
  readonly allowPrivateHosts: ReadonlyArray<string>
  /** The proxy that is the way out; null connects directly. */
  readonly egress: Egress | null
  /** Directories that every agent may read. */
  readonly sharedDirectories: ReadonlyArray<string>
  /** Reverse proxies, by address or network. Their `X-Forwarded-For`, or else their `Forwarded`, is believed. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Origins whose pages may call the API with a key. */
  readonly corsOrigins: ReadonlyArray<string>
  readonly maxRunningTurns: number | undefined
  readonly turnMinutes: number | undefined
  /** The time that an agent waits for the answer of a person. */
  readonly interactionMinutes: number | undefined
  readonly idleMinutes: number | undefined
  /** The time that an agent is kept ready for the next turn of its session. With 0 none is kept. */
  readonly agentIdleMinutes: number | undefined
  readonly maxIdleAgents: number | undefined
  /** The bytes of memory that agents between their turns leave free. With 0 none gives way to memory. */
  readonly agentFreeBytes: number | undefined
  /** True when the agents of new sessions are started ahead of their first turns. */
  readonly prewarm: boolean
  /** The time for which what a setup has left is kept after its last use. */
  readonly setupSnapshotDays: number | undefined
  readonly setupSnapshotBytes: number | undefined
  /** The lifetime of a claim on a job. A server renews its claims three times before they run out; then others take the job over. */
  readonly leaseSeconds: number | undefined
  /** The time between two beats of an event stream. It is 15 at most, because a client that hears nothing for 45 s connects again. */
  readonly heartbeatSeconds: number
  /** The time that a client has to send a request. */
  readonly requestSeconds: number
  /** The limits that were set. The requests a minute are `rateLimit`. */
  readonly limits: Partial<Omit<CoreLimits, "requestsPerMinute">>
}

/** Reads the settings from the command line, the environment and `reins.json` in the working directory, in this order. */
export const load = fn("Config.load")(function* (flags: Given, environment: NodeJS.ProcessEnv, directory: string) {
  const given = {
    ...(yield* readSettingsFile(join(directory, "reins.json"))),
    ...fromEnvironment(environment),
    ...flags
  }
  const settings = yield* Effect.catchAll(decode(given), ({ issue }) => Effect.flatMap(invalid(issue), Effect.fail))
  const host = settings.host ?? "127.0.0.1"
  const port = settings.port ?? 7117
  const publicUrl = withoutSlashes(
    settings.public_url ?? `http://${host.includes(":") ? `[${host.split("%")[0]}]` : host}:${port}`
  )
  /** True where only this machine reaches the server. */
  const isAlone = isLoopback(host) && isLoopback(publicUrl.hostname)
  const blobs =
    settings.blobs === undefined
      ? blobsUnlessGiven(settings.node)
      : yield* blobsOf(settings.blobs, settings, environment)
  const path = (text: string | undefined) => (text === undefined ? undefined : resolve(directory, text))
  const config: Config = {
    host,
    port,
    dataDir: resolve(directory, settings.data_dir ?? ".reins"),
    databaseUrl: settings.database_url === undefined ? undefined : Redacted.make(settings.database_url),
    databaseConnections: settings.database_connections ?? 20,
    node: yield* nodeOf(settings),
    blobs,
    publicUrl,
    keyFile: path(settings.key_file),
    cacheDir: path(settings.cache_dir),
    manifestsDir: path(settings.manifests_dir),
    agentsBy: settings.agents_by ?? (isAlone ? "owners" : "operator"),
    smtpUrl: settings.smtp_url === undefined ? undefined : Redacted.make(settings.smtp_url),
    mailFrom: settings.mail_from,
    gitCommitter: settings.git_committer,
    pushKey: settings.push_key === undefined ? undefined : Redacted.make(settings.push_key),
    rateLimit: settings.rate_limit === "off" ? null : (settings.rate_limit ?? 600),
    console: settings.console ?? true,
    acp: settings.acp ?? false,
    metrics: settings.metrics ?? isAlone,
    logLevel: levels[settings.log_level ?? "info"],
    executors: settings.executor ?? (isAlone && !isRoot() ? null : ["bubblewrap"]),
    containerImage: settings.container_image,
    containerEngine: settings.container_engine,
    agentLimits: agentLimitsOf(settings),
    allowLocalRepositories: settings.allow_local_repositories ?? false,
    allowSshRepositories: settings.allow_ssh_repositories ?? false,
    allowPrivateHosts: settings.allow_private_hosts ?? [],
    egress: egressOf(settings),
    sharedDirectories: (settings.shared_directories ?? []).map((shared) => resolve(directory, shared)),
    trustedProxies: settings.trusted_proxies ?? [],
    corsOrigins: settings.cors_origins ?? [],
    maxRunningTurns: settings.max_running_turns,
    turnMinutes: settings.turn_minutes,
    interactionMinutes: settings.interaction_minutes,
    idleMinutes: settings.idle_minutes,
    agentIdleMinutes: settings.agent_idle_minutes,
    maxIdleAgents: settings.max_idle_agents,
    agentFreeBytes: settings.agent_free_bytes,
    prewarm: settings.prewarm ?? true,
    setupSnapshotDays: settings.setup_snapshot_days,
    setupSnapshotBytes: settings.setup_snapshot_bytes,
    leaseSeconds: settings.lease_seconds,
    heartbeatSeconds: settings.heartbeat_seconds ?? 15,
    requestSeconds: settings.request_seconds ?? 120,
    limits: limitsOf(settings)
  }
  const { dataDir, keyFile, sharedDirectories } = config
  if (!sharedDirectories.every((shared) => isShareable(shared, [dataDir, ...(keyFile === undefined ? [] : [keyFile])])))
    return yield* new ConfigInvalid({ problem: `shared_directories has to be ${(yield* texts).shared_directories}` })
  return config
})

/** The reader of the setting is loaded where it is given. */
/** A URL with which paths are joined, so that no link has two slashes. */
const withoutSlashes = (text: string): URL => {
  const url = new URL(text)
  url.pathname = url.pathname.replace(/(?<!\/)\/+$/, "")
  return url
}

const blobsOf = (text: string, { database_url }: typeof Settings.Type, environment: NodeJS.ProcessEnv) =>
  Effect.flatMap(
    Effect.promise(() => import("./BlobSetting.js")),
    ({ blobSetting }) => {
      const found = blobSetting(text, database_url !== undefined, environment)
      return typeof found === "string" ? Effect.fail(new ConfigInvalid({ problem: found })) : Effect.succeed(found)
    }
  )

const egressOf = ({ egress_direct, egress_lookup, egress_proxy }: typeof Settings.Type): Config["egress"] =>
  egress_proxy === undefined
    ? null
    : { proxy: Redacted.make(egress_proxy), direct: egress_direct ?? [], lookup: egress_lookup ?? "server" }

const agentLimitsOf = (settings: typeof Settings.Type): Config["agentLimits"] => ({
  ...(settings.agent_memory_bytes !== undefined && { memoryBytes: settings.agent_memory_bytes }),
  ...(settings.agent_processes !== undefined && { processes: settings.agent_processes }),
  ...(settings.agent_processors !== undefined && { processors: settings.agent_processors }),
  ...(settings.agent_disk_bytes !== undefined && { diskBytes: settings.agent_disk_bytes }),
  ...(settings.agent_open_files !== undefined && { openFiles: settings.agent_open_files }),
  ...(settings.agent_temporary_bytes !== undefined && { temporaryBytes: settings.agent_temporary_bytes })
})

const limitsOf = (settings: typeof Settings.Type): Config["limits"] => ({
  ...(settings.message_characters !== undefined && { messageCharacters: settings.message_characters }),
  ...(settings.json_body_bytes !== undefined && { jsonBodyBytes: settings.json_body_bytes }),
  ...(settings.upload_bytes !== undefined && { uploadBytes: settings.upload_bytes }),
  ...(settings.file_read_bytes !== undefined && { fileReadBytes: settings.file_read_bytes }),
  ...(settings.diff_bytes !== undefined && { diffBytes: settings.diff_bytes }),
  ...(settings.diff_file_bytes !== undefined && { diffFileBytes: settings.diff_file_bytes }),
  ...(settings.diff_files !== undefined && { diffFiles: settings.diff_files }),
  ...(settings.queued_turns !== undefined && { queuedTurns: settings.queued_turns }),
  ...(settings.delegation_depth !== undefined && { delegationDepth: settings.delegation_depth }),
  ...(settings.live_delegations !== undefined && { liveDelegations: settings.live_delegations }),
  ...(settings.tree_delegations !== undefined && { treeDelegations: settings.tree_delegations }),
  ...(settings.delegation_seconds !== undefined && { delegationSeconds: settings.delegation_seconds }),
  ...(settings.artifact_bytes !== undefined && { artifactBytes: settings.artifact_bytes }),
  ...(settings.artifacts_per_turn !== undefined && { artifactsPerTurn: settings.artifacts_per_turn }),
  ...(settings.artifacts_per_session !== undefined && { artifactsPerSession: settings.artifacts_per_session }),
  ...(settings.tool_calls_per_turn !== undefined && { toolCallsPerTurn: settings.tool_calls_per_turn }),
  ...(settings.open_tool_calls !== undefined && { openToolCalls: settings.open_tool_calls }),
  ...(settings.offered_tools !== undefined && { offeredTools: settings.offered_tools }),
  ...(settings.tool_input_characters !== undefined && { toolInputCharacters: settings.tool_input_characters }),
  ...(settings.tool_answer_characters !== undefined && { toolAnswerCharacters: settings.tool_answer_characters }),
  ...(settings.tool_answer_images !== undefined && { toolAnswerImages: settings.tool_answer_images }),
  ...(settings.server_answer_bytes !== undefined && { serverAnswerBytes: settings.server_answer_bytes }),
  ...(settings.servers_per_version !== undefined && { serversPerVersion: settings.servers_per_version }),
  ...(settings.server_tools_per_version !== undefined && { serverToolsPerVersion: settings.server_tools_per_version }),
  ...(settings.registrations_per_hour !== undefined && { registrationsPerHour: settings.registrations_per_hour }),
  ...(settings.sessions_per_workspace !== undefined && { sessionsPerWorkspace: settings.sessions_per_workspace }),
  ...(settings.working_trees_per_workspace !== undefined && {
    workingTreesPerWorkspace: settings.working_trees_per_workspace
  }),
  ...(settings.disk_bytes_per_workspace !== undefined && { diskBytesPerWorkspace: settings.disk_bytes_per_workspace }),
  ...(settings.streams_per_session !== undefined && { streamsPerSession: settings.streams_per_session }),
  ...(settings.event_retention_days !== undefined && { eventRetentionDays: settings.event_retention_days })
})

/** A node without snapshots could give its sessions to no other one. */
const blobsUnlessGiven = (node: string | undefined): BlobAddress | null =>
  node === undefined ? null : { kind: "postgres" }

/** The node that the settings name. A node shares its database with others, so it needs one that others reach. */
const nodeOf = (settings: typeof Settings.Type): Effect.Effect<NodeConfig | undefined, ConfigInvalid> => {
  const { database_url, node: name, node_address: address, node_lease_seconds: leaseSeconds, role } = settings
  const { node_drain_seconds: drainSeconds, node_reclaim_seconds: reclaimSeconds } = settings
  if (name === undefined) {
    const alone = address ?? role ?? leaseSeconds ?? reclaimSeconds ?? drainSeconds
    return alone === undefined
      ? Effect.succeed(undefined)
      : refused(
          "node_address, role, node_lease_seconds, node_reclaim_seconds and node_drain_seconds need --node, the name of one of several machines."
        )
  }
  if (database_url === undefined) return refused("A node needs REINS_DATABASE_URL, which all nodes share.")
  if (address === undefined) return refused("A node needs --node-address, the URL at which the others reach it.")
  return Effect.succeed({
    name,
    address: new URL(address),
    role: role ?? "all",
    leaseSeconds: leaseSeconds ?? defaultLeaseSeconds,
    reclaimSeconds: reclaimSeconds ?? 300,
    drainSeconds: drainSeconds ?? 0
  })
}

const refused = (problem: string) => Effect.fail(new ConfigInvalid({ problem }))

/** An agent without a sandbox could do everything on the machine. */
const isRoot = (): boolean => process.getuid?.() === 0

/** True for the names and addresses by which a machine reaches itself alone. */
export const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/.test(host)

const decode = Schema.decodeUnknown(Settings, { errors: "all", onExcessProperty: "error" })

const levels = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
}

const names = Object.keys(fields).filter((name): name is SettingName => name in fields)

/** An empty variable counts as not set, because compose files leave variables empty. */
const fromEnvironment = (environment: NodeJS.ProcessEnv): Given =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = environment[`REINS_${name.toUpperCase()}`]
      return value === undefined || value === "" ? [] : [[name, value]]
    })
  )

const SettingsFile = Schema.parseJson(
  Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean) })
)

const readSettingsFile = (path: string): Effect.Effect<Readonly<Record<string, string>>, ConfigInvalid> =>
  Effect.suspend(() => {
    let text: string
    try {
      text = readFileSync(path, "utf8")
    } catch (cause) {
      return isAbsent(cause)
        ? Effect.succeed({})
        : Effect.fail(new ConfigInvalid({ problem: `${path} cannot be read.` }))
    }
    return Schema.decodeUnknown(SettingsFile)(text).pipe(
      Effect.map((settings) =>
        Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))
      ),
      Effect.mapError(() => new ConfigInvalid({ problem: `${path} is not a JSON object of settings.` }))
    )
  })

const isAbsent = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** Loaded for a setting that is wrong, because a start in order needs none of them. */
const texts = Effect.map(
  Effect.promise(() => import("./SettingTexts.js")),
  ({ expected }) => expected
)

const invalid = Effect.fnUntraced(function* (issue: ParseResult.ParseIssue) {
  const expected = yield* texts
  const issues = ParseResult.ArrayFormatter.formatIssueSync(issue)
  const wrong = new Set(issues.map(({ path }) => String(path[0])))
  const problems = [...wrong].map((name) => {
    const known = names.find((each) => each === name)
    const told = issues.find(({ message, path }) => path[0] === name && message === severalHosts)
    if (told !== undefined) return told.message
    return known === undefined
      ? `There is no setting "${name}". There are: ${names.join(", ")}.`
      : `The setting "${name}" has to be ${expected[known]} (--${flagOf(known)}, REINS_${name.toUpperCase()} or reins.json).`
  })
  return new ConfigInvalid({ problem: problems.join("\n") })
})
