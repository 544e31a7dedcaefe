import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { AgentLimits } from "@reins/core/base/AgentLimits"
import type { BuiltInExecutor } from "@reins/core/base/CoreConfig"
import type { CoreLimits } from "@reins/core/base/CoreLimits"
import { fn } from "@reins/core/base/Traced"
import { Data, Effect, LogLevel, ParseResult, Redacted, Schema } from "effect"
import {
  byDigest,
  CommaList,
  ExecutorList,
  Flag,
  HostList,
  HttpUrl,
  isShareable,
  NetworkList,
  OriginList,
  Whole
} from "./SettingValues.js"

/** The name of a setting in `reins.json`. It is `REINS_<NAME>` in the environment and `flagOf` on the command line. */
export type SettingName = keyof typeof fields

/** Settings as texts. The command line wins over the environment, which wins over the file. */
export type Given = Readonly<Partial<Record<SettingName, string>>>

const fields = {
  host: Schema.String.pipe(Schema.minLength(1)),
  port: Whole(0, 65535),
  data_dir: Schema.String.pipe(Schema.minLength(1)),
  database_url: Schema.String.pipe(Schema.pattern(/^postgres(?:ql)?:\/\//)),
  database_connections: Whole(2, 1000),
  public_url: HttpUrl,
  key_file: Schema.String.pipe(Schema.minLength(1)),
  cache_dir: Schema.String.pipe(Schema.minLength(1)),
  manifests_dir: Schema.String.pipe(Schema.minLength(1)),
  smtp_url: Schema.String.pipe(Schema.pattern(/^smtps?:\/\//)),
  mail_from: Schema.String.pipe(Schema.minLength(3)),
  rate_limit: Schema.Union(Schema.Literal("off"), Whole(1, 1_000_000)),
  console: Flag,
  metrics: Flag,
  log_level: Schema.Literal("debug", "info", "warning", "error", "none"),
  executor: ExecutorList,
  container_image: Schema.String.pipe(Schema.pattern(byDigest)),
  container_engine: Schema.Literal("podman", "docker"),
  agent_memory_bytes: Whole(64 * 1024 * 1024, 2 ** 50),
  agent_processes: Whole(16, 1_000_000),
  agent_processors: Schema.NumberFromString.pipe(Schema.between(0.1, 4096)),
  agent_disk_bytes: Whole(1024 * 1024, 2 ** 50),
  agent_open_files: Whole(64, 1_000_000),
  agent_temporary_bytes: Whole(1024 * 1024, 2 ** 50),
  allow_local_repositories: Flag,
  allow_ssh_repositories: Flag,
  allow_private_hosts: HostList,
  shared_directories: CommaList,
  trusted_proxies: NetworkList,
  cors_origins: OriginList,
  max_running_turns: Whole(1, 1000),
  turn_minutes: Whole(1, 24 * 60),
  interaction_minutes: Whole(1, 24 * 60),
  idle_minutes: Whole(1, 7 * 24 * 60),
  agent_idle_minutes: Whole(0, 24 * 60),
  max_idle_agents: Whole(0, 10_000),
  agent_free_bytes: Whole(0, 2 ** 50),
  prewarm: Flag,
  setup_snapshot_days: Whole(1, 3650),
  setup_snapshot_bytes: Whole(0, 2 ** 50),
  lease_seconds: Whole(3, 600),
  heartbeat_seconds: Whole(1, 15),
  request_seconds: Whole(5, 3600),
  message_characters: Whole(1, 100_000),
  json_body_bytes: Whole(1024, 64 * 1024 * 1024),
  upload_bytes: Whole(1, 100 * 1024 * 1024),
  file_read_bytes: Whole(1, 100 * 1024 * 1024),
  diff_bytes: Whole(1024, 16 * 1024 * 1024),
  diff_file_bytes: Whole(1024, 16 * 1024 * 1024),
  diff_files: Whole(1, 100_000),
  queued_turns: Whole(1, 1000),
  delegation_depth: Whole(1, 20),
  live_delegations: Whole(1, 1000),
  delegation_seconds: Whole(1, 604_800),
  registrations_per_hour: Whole(1, 10_000),
  sessions_per_workspace: Whole(1, 1_000_000),
  working_trees_per_workspace: Whole(1, 1_000_000),
  disk_bytes_per_workspace: Whole(1024 * 1024, 2 ** 50),
  streams_per_session: Whole(1, 10_000),
  event_retention_days: Whole(1, 36_500)
}

/** A valid value of each setting, in words. They never quote the given value. */
export const expected: Readonly<Record<SettingName, string>> = {
  host: "a host name or address to listen on",
  port: "a port from 0 to 65535",
  data_dir: "a directory",
  database_url: "a postgres:// URL",
  database_connections: "a number from 2 to 1000",
  public_url: "an http or https URL",
  key_file: "a file",
  cache_dir: "a directory",
  manifests_dir: "a directory of manifests",
  smtp_url: "an smtp:// or smtps:// URL",
  mail_from: "a sender as in Reins <reins@example.com>",
  rate_limit: "requests a minute, or off",
  console: "on or off",
  metrics: "on or off",
  log_level: "debug, info, warning, error or none",
  executor: "bubblewrap, container, local, or a comma list of them in order of preference",
  container_image: "an image by its digest, as in docker.io/library/node@sha256:<64 digits>",
  container_engine: "podman or docker",
  agent_memory_bytes: "a number of bytes from 67108864 to 1125899906842624",
  agent_processes: "a number from 16 to 1000000",
  agent_processors: "a number from 0.1 to 4096",
  agent_disk_bytes: "a number of bytes from 1048576 to 1125899906842624",
  agent_open_files: "a number from 64 to 1000000",
  agent_temporary_bytes: "a number of bytes from 1048576 to 1125899906842624",
  allow_local_repositories: "on or off",
  allow_ssh_repositories: "on or off",
  allow_private_hosts: "a comma list of hosts, each as in gitlab.lan or 127.0.0.1:11434, or * for all",
  shared_directories: "a comma list of directories that hold nothing of the service",
  trusted_proxies: "a comma list of addresses or networks, as in 127.0.0.1 or 10.0.0.0/8",
  cors_origins: "a comma list of origins, each as in https://app.example.com, without a path",
  max_running_turns: "a number from 1 to 1000",
  turn_minutes: "a number of minutes from 1 to 1440",
  interaction_minutes: "a number of minutes from 1 to 1440",
  idle_minutes: "a number of minutes from 1 to 10080",
  agent_idle_minutes: "a number of minutes from 0 to 1440",
  max_idle_agents: "a number from 0 to 10000",
  agent_free_bytes: "a number of bytes from 0 to 1125899906842624",
  prewarm: "on or off",
  setup_snapshot_days: "a number of days from 1 to 3650",
  setup_snapshot_bytes: "a number of bytes from 0 to 1125899906842624",
  lease_seconds: "a number of seconds from 3 to 600",
  heartbeat_seconds: "a number of seconds from 1 to 15",
  request_seconds: "a number of seconds from 5 to 3600",
  message_characters: "a number of characters from 1 to 100000",
  json_body_bytes: "a number of bytes from 1024 to 67108864",
  upload_bytes: "a number of bytes from 1 to 104857600",
  file_read_bytes: "a number of bytes from 1 to 104857600",
  diff_bytes: "a number of bytes from 1024 to 16777216",
  diff_file_bytes: "a number of bytes from 1024 to 16777216",
  diff_files: "a number from 1 to 100000",
  queued_turns: "a number from 1 to 1000",
  delegation_depth: "a number from 1 to 20",
  live_delegations: "a number from 1 to 1000",
  delegation_seconds: "a number from 1 to 604800",
  registrations_per_hour: "a number from 1 to 10000",
  sessions_per_workspace: "a number from 1 to 1000000",
  working_trees_per_workspace: "a number from 1 to 1000000",
  disk_bytes_per_workspace: "a number of bytes from 1048576 to 1125899906842624",
  streams_per_session: "a number from 1 to 10000",
  event_retention_days: "a number of days from 1 to 36500"
}

/** The name of a setting on the command line, without its dashes. */
export const flagOf = (name: SettingName): string =>
  name === "manifests_dir" ? "manifests" : name.replaceAll("_", "-")

const Settings = Schema.partialWith(Schema.Struct(fields), { exact: true })

/** A setting that cannot be used. The message names it and a valid value, and does not quote the given one, which may be a secret. */
export class ConfigInvalid extends Data.TaggedError("ConfigInvalid")<{ readonly problem: string }> {
  override get message() {
    return this.problem
  }
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
  readonly publicUrl: URL
  readonly keyFile: string | undefined
  readonly cacheDir: string | undefined
  /** A directory of manifests. Each adds a provider or replaces one. */
  readonly manifestsDir: string | undefined
  readonly smtpUrl: Redacted.Redacted | undefined
  readonly mailFrom: string | undefined
  /** Requests a minute for each caller; null for any number. */
  readonly rateLimit: number | null
  /** True when the console is served at `/ui`. */
  readonly console: boolean
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
  /** Directories that every agent may read. */
  readonly sharedDirectories: ReadonlyArray<string>
  /** Reverse proxies, by address or network. Their `X-Forwarded-For` is believed. */
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
  const settings = yield* Effect.mapError(decode(given), ({ issue }) => invalid(issue))
  const host = settings.host ?? "127.0.0.1"
  const port = settings.port ?? 7117
  const publicUrl = new URL(settings.public_url ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`)
  const path = (text: string | undefined) => (text === undefined ? undefined : resolve(directory, text))
  const config: Config = {
    host,
    port,
    dataDir: resolve(directory, settings.data_dir ?? ".reins"),
    databaseUrl: settings.database_url === undefined ? undefined : Redacted.make(settings.database_url),
    databaseConnections: settings.database_connections ?? 20,
    publicUrl,
    keyFile: path(settings.key_file),
    cacheDir: path(settings.cache_dir),
    manifestsDir: path(settings.manifests_dir),
    smtpUrl: settings.smtp_url === undefined ? undefined : Redacted.make(settings.smtp_url),
    mailFrom: settings.mail_from,
    rateLimit: settings.rate_limit === "off" ? null : (settings.rate_limit ?? 600),
    console: settings.console ?? true,
    metrics: settings.metrics ?? (isLoopback(host) && isLoopback(publicUrl.hostname)),
    logLevel: levels[settings.log_level ?? "info"],
    executors:
      settings.executor ?? (isLoopback(host) && isLoopback(publicUrl.hostname) && !isRoot() ? null : ["bubblewrap"]),
    containerImage: settings.container_image,
    containerEngine: settings.container_engine,
    agentLimits: agentLimitsOf(settings),
    allowLocalRepositories: settings.allow_local_repositories ?? false,
    allowSshRepositories: settings.allow_ssh_repositories ?? false,
    allowPrivateHosts: settings.allow_private_hosts ?? [],
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
    return yield* new ConfigInvalid({ problem: `shared_directories has to be ${expected.shared_directories}` })
  return config
})

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
  ...(settings.delegation_seconds !== undefined && { delegationSeconds: settings.delegation_seconds }),
  ...(settings.registrations_per_hour !== undefined && { registrationsPerHour: settings.registrations_per_hour }),
  ...(settings.sessions_per_workspace !== undefined && { sessionsPerWorkspace: settings.sessions_per_workspace }),
  ...(settings.working_trees_per_workspace !== undefined && {
    workingTreesPerWorkspace: settings.working_trees_per_workspace
  }),
  ...(settings.disk_bytes_per_workspace !== undefined && { diskBytesPerWorkspace: settings.disk_bytes_per_workspace }),
  ...(settings.streams_per_session !== undefined && { streamsPerSession: settings.streams_per_session }),
  ...(settings.event_retention_days !== undefined && { eventRetentionDays: settings.event_retention_days })
})

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

const invalid = (issue: ParseResult.ParseIssue): ConfigInvalid => {
  const wrong = new Set(ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ path }) => String(path[0])))
  const problems = [...wrong].map((name) => {
    const known = names.find((each) => each === name)
    return known === undefined
      ? `There is no setting "${name}". There are: ${names.join(", ")}.`
      : `The setting "${name}" has to be ${expected[known]} (--${flagOf(known)}, REINS_${name.toUpperCase()} or reins.json).`
  })
  return new ConfigInvalid({ problem: problems.join("\n") })
}
