import { blobAddressText } from "@reins/base/base/BlobAddress"
import type { CoreConfig } from "@reins/base/base/CoreConfig"
import { identityText } from "@reins/base/domain/GitIdentity"
import { command } from "@reins/cli/Command"
import { Effect, Redacted } from "effect"
import type { Config, SettingName } from "../../Config.js"
import { coreConfigOf } from "./Installation.js"
import { configOf, serverOptions } from "./Settings.js"

/** `reins config` */
export const config = command({
  takes: serverOptions,
  examples: [
    ["reins config", "Print every setting in force"],
    ["reins config --port 8080", "Print them as `reins serve --port 8080` takes them"]
  ],
  run: (options) =>
    Effect.flatMap(configOf(options), (config) =>
      Effect.sync(() => process.stdout.write(`${JSON.stringify(describe(config), null, 2)}\n`))
    )
})

/** The configuration in force, by the names of the settings, without secrets. Null for a setting that is absent or has no bound. */
export const describe = (config: Config): Readonly<Record<SettingName, string | number | boolean | null>> =>
  described(config, coreConfigOf(config))

const described = (config: Config, core: CoreConfig["Type"]): ReturnType<typeof describe> => ({
  host: config.host,
  port: config.port,
  data_dir: core.dataDir,
  database_url: config.databaseUrl === undefined ? null : maskedUrl(config.databaseUrl),
  database_connections: config.databaseConnections,
  blobs: core.blobs === null ? null : blobAddressText(core.blobs),
  public_url: config.publicUrl.href,
  key_file: core.keyFile,
  cache_dir: core.cacheDir,
  manifests_dir: config.manifestsDir ?? null,
  agents_by: core.agentsBy,
  smtp_url: core.smtpUrl === null ? null : maskedUrl(core.smtpUrl),
  mail_from: core.mailFrom,
  git_committer: identityText(core.gitCommitter),
  push_key: core.pushKey === null ? null : "****",
  rate_limit: config.rateLimit ?? "off",
  console: config.console ? "on" : "off",
  acp: config.acp ? "on" : "off",
  metrics: config.metrics ? "on" : "off",
  log_level: config.logLevel.label.toLowerCase(),
  executor: config.executors?.join(",") ?? null,
  container_image: core.containerImage,
  container_engine: core.containerEngine,
  agent_memory_bytes: core.agentLimits.memoryBytes,
  agent_processes: core.agentLimits.processes,
  agent_processors: core.agentLimits.processors,
  agent_disk_bytes: core.agentLimits.diskBytes,
  agent_open_files: core.agentLimits.openFiles,
  agent_temporary_bytes: core.agentLimits.temporaryBytes,
  allow_local_repositories: core.allowLocalRepositories,
  allow_ssh_repositories: core.allowSshRepositories,
  allow_private_hosts: core.allowPrivateHosts.join(","),
  egress_proxy: core.egress === null ? null : maskedUrl(core.egress.proxy),
  egress_direct: core.egress === null ? null : core.egress.direct.join(","),
  egress_lookup: core.egress?.lookup ?? "server",
  shared_directories: core.sharedDirectories.join(","),
  trusted_proxies: config.trustedProxies.join(","),
  cors_origins: config.corsOrigins.join(","),
  max_running_turns: core.maxRunningTurns,
  turn_minutes: core.turnDeadlineMs / 60_000,
  interaction_minutes: core.interactionExpiryMs / 60_000,
  idle_minutes: core.idleReleaseMs / 60_000,
  agent_idle_minutes: core.agentIdleMs / 60_000,
  max_idle_agents: core.maxIdleAgents,
  agent_free_bytes: core.agentFreeMemory,
  prewarm: core.prewarm,
  setup_snapshot_days: core.setupSnapshotDays,
  setup_snapshot_bytes: core.setupSnapshotBytes,
  node: config.node?.name ?? null,
  node_address: config.node?.address.href ?? null,
  role: config.node?.role ?? null,
  node_lease_seconds: config.node?.leaseSeconds ?? null,
  node_reclaim_seconds: config.node?.reclaimSeconds ?? null,
  node_drain_seconds: config.node?.drainSeconds ?? null,
  lease_seconds: core.leaseMs / 1000,
  heartbeat_seconds: config.heartbeatSeconds,
  request_seconds: config.requestSeconds,
  ...limitsOf(core.limits)
})

const limitsOf = (limits: CoreConfig["Type"]["limits"]) => ({
  message_characters: limits.messageCharacters,
  json_body_bytes: limits.jsonBodyBytes,
  upload_bytes: limits.uploadBytes,
  file_read_bytes: limits.fileReadBytes,
  diff_bytes: limits.diffBytes,
  diff_file_bytes: limits.diffFileBytes,
  diff_files: limits.diffFiles,
  queued_turns: limits.queuedTurns,
  delegation_depth: limits.delegationDepth,
  live_delegations: limits.liveDelegations,
  tree_delegations: limits.treeDelegations,
  delegation_seconds: limits.delegationSeconds,
  artifact_bytes: limits.artifactBytes,
  artifacts_per_turn: limits.artifactsPerTurn,
  artifacts_per_session: limits.artifactsPerSession,
  tool_calls_per_turn: limits.toolCallsPerTurn,
  open_tool_calls: limits.openToolCalls,
  offered_tools: limits.offeredTools,
  tool_input_characters: limits.toolInputCharacters,
  tool_answer_characters: limits.toolAnswerCharacters,
  tool_answer_images: limits.toolAnswerImages,
  server_answer_bytes: limits.serverAnswerBytes,
  servers_per_version: limits.serversPerVersion,
  server_tools_per_version: limits.serverToolsPerVersion,
  registrations_per_hour: limits.registrationsPerHour,
  sessions_per_workspace: limits.sessionsPerWorkspace,
  working_trees_per_workspace: limits.workingTreesPerWorkspace,
  disk_bytes_per_workspace: limits.diskBytesPerWorkspace,
  streams_per_session: limits.streamsPerSession,
  event_retention_days: limits.eventRetentionDays
})

const maskedUrl = (secret: Redacted.Redacted): string => {
  const text = Redacted.value(secret)
  if (!URL.canParse(text)) return "****"
  const url = new URL(text)
  if (url.username !== "") url.username = "****"
  if (url.password !== "") url.password = "****"
  url.search = ""
  return url.href
}
