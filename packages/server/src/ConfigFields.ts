import { Schema } from "effect"
import {
  byDigest,
  Committer,
  Decimal,
  ExecutorList,
  Flag,
  Host,
  HostList,
  HttpUrl,
  NetworkList,
  OriginList,
  Path,
  PathList,
  PostgresUrl,
  ProxyUrl,
  PushKey,
  Sender,
  SmtpUrl,
  Whole
} from "./SettingValues.js"

/** The name of a setting in `reins.json`. It is `REINS_<NAME>` in the environment and `flagOf` on the command line. */
export type SettingName = keyof typeof fields

/** Settings as texts. The command line wins over the environment, which wins over the file. */
export type Given = Readonly<Partial<Record<SettingName, string>>>

/** The settings, each by its form as a text. */
export const fields = {
  host: Host,
  port: Whole(0, 65535),
  data_dir: Path,
  database_url: PostgresUrl,
  database_connections: Whole(2, 1000),
  node: Schema.String.pipe(Schema.pattern(/^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/)),
  node_address: HttpUrl,
  role: Schema.Literal("api", "runner", "all"),
  node_lease_seconds: Whole(1, 600),
  node_reclaim_seconds: Whole(0, 604_800),
  node_drain_seconds: Whole(0, 604_800),
  blobs: Schema.String,
  public_url: HttpUrl,
  key_file: Path,
  cache_dir: Path,
  manifests_dir: Path,
  smtp_url: SmtpUrl,
  mail_from: Sender,
  git_committer: Committer,
  push_key: PushKey,
  rate_limit: Schema.Union(Schema.Literal("off"), Whole(1, 1_000_000)),
  console: Flag,
  acp: Flag,
  metrics: Flag,
  log_level: Schema.Literal("debug", "info", "warning", "error", "none"),
  executor: ExecutorList,
  container_image: Schema.String.pipe(Schema.pattern(byDigest)),
  container_engine: Schema.Literal("podman", "docker"),
  agent_memory_bytes: Whole(64 * 1024 * 1024, 2 ** 50),
  agent_processes: Whole(16, 1_000_000),
  agent_processors: Decimal(0.1, 4096),
  agent_disk_bytes: Whole(1024 * 1024, 2 ** 50),
  agent_open_files: Whole(64, 1_000_000),
  agent_temporary_bytes: Whole(1024 * 1024, 2 ** 50),
  allow_local_repositories: Flag,
  allow_ssh_repositories: Flag,
  allow_private_hosts: HostList,
  egress_proxy: ProxyUrl,
  egress_direct: HostList,
  egress_lookup: Schema.Literal("server", "proxy"),
  shared_directories: PathList,
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
  tree_delegations: Whole(1, 10_000),
  delegation_seconds: Whole(1, 604_800),
  registrations_per_hour: Whole(1, 10_000),
  sessions_per_workspace: Whole(1, 1_000_000),
  working_trees_per_workspace: Whole(1, 1_000_000),
  disk_bytes_per_workspace: Whole(1024 * 1024, 2 ** 50),
  streams_per_session: Whole(1, 10_000),
  event_retention_days: Whole(1, 36_500)
}

/** The name of a setting on the command line, without its dashes. */
export const flagOf = (name: SettingName): string =>
  name === "manifests_dir" ? "manifests" : name.replaceAll("_", "-")

/** Settings that were given, as they are meant. */
export const Settings = Schema.partialWith(Schema.Struct(fields), { exact: true })
