import type { SettingName } from "@reins/server/Config"

/** A setting in words. Its default is asked of the code, unless it follows from something else. */
interface SettingText {
  readonly does: string
  readonly unit?: string
  /** The default where it is none or follows from something else. */
  readonly fallback?: string
}

/** A text for every setting of the server. */
export const settingTexts: Readonly<Record<SettingName, SettingText>> = {
  host: { does: "The address to listen on." },
  port: { does: "The port to listen on; 0 takes a free one." },
  data_dir: {
    does: "Holds the database, sessions, outbox and key ring. Only the server's user may read it.",
    fallback: "`.reins` in the working directory"
  },
  database_url: {
    does: "A PostgreSQL database in the place of SQLite. A second server of the machine may then share it and the data directory, and takes over when the first is lost. A pooler may stand in front, also in transaction mode, where servers learn of each other's writes only by looking now and then. Transactions are `read committed`, whatever the database's default is.",
    fallback: "SQLite in the data directory"
  },
  database_connections: {
    does: "The most connections to PostgreSQL that a server opens, besides one for its bell. All servers together need fewer than its `max_connections`."
  },
  node: {
    does: "The name of this machine among several on one PostgreSQL: a slot for the machine with its data directory. `docs/scale.md` tells of it.",
    fallback: "one machine alone"
  },
  node_address: { does: "The address at which the other nodes reach this one.", fallback: "none; a node needs one" },
  role: {
    does: "The work of a node: `api` serves requests and needs no disk, `runner` has the sessions and their agents, `all` does both.",
    fallback: "`all`"
  },
  node_lease_seconds: {
    does: "Advanced: after how long without a word a node counts as lost. It gives one six times in that time, and ends its agents when a sixth of it is left. `docs/scale.md` tells what it costs.",
    unit: "seconds",
    fallback: "6"
  },
  node_reclaim_seconds: {
    does: "After how long without a word the sessions of a lost node go to other nodes, from their snapshots, when somebody needs them. 0 is for machines whose disk never comes back.",
    unit: "seconds",
    fallback: "300"
  },
  node_drain_seconds: {
    does: "For how long a node that is told to stop gives its sessions to the others first, once their turns have ended; it serves meanwhile. Let Kubernetes, systemd or a compose file wait for 15 seconds more before they stop it. With 0, turns that run after some seconds are interrupted.",
    unit: "seconds",
    fallback: "0"
  },
  blobs: {
    does: "The store of the snapshots of sessions, which outlive the machine. It is `directory:/path` on a file system that all machines share, `postgres`, or a bucket of S3. See [several machines](scale.md#blobs-and-snapshots).",
    fallback: "`postgres` for a node, and no snapshots on one machine"
  },
  public_url: {
    does: "The address at which people reach the service. Links in mails begin with it; https makes cookies `Secure`.",
    fallback: "`http://<host>:<port>`"
  },
  key_file: {
    does: "The keys that seal credentials. Keep a copy apart from the database.",
    fallback: "`keyring.json` in the data directory"
  },
  cache_dir: {
    does: "The installed agents, which installations may share.",
    fallback: "`reins` in `XDG_CACHE_HOME`, which is `~/.cache` when not set"
  },
  manifests_dir: {
    does: "A directory whose `*.json` are manifests, read at the start: each adds a provider or replaces one.",
    fallback: "none"
  },
  agents_by: {
    does: "`owners` of workspaces may enable agents that are part of Reins and off, for everybody. Or the `operator` alone does so, with `reins harnesses enable`.",
    fallback: "`owners` while host and public URL are loopback, else `operator`"
  },
  egress_proxy: {
    does: "The proxy through which the server and its agents connect, with its credentials in the URL, for a machine that has no other way out.",
    fallback: "none"
  },
  egress_direct: { does: "Hosts that are connected without that proxy. Loopback always is.", fallback: "none" },
  egress_lookup: {
    does: "`server` looks names up, refuses private addresses and asks the proxy for the address. `proxy` sends names, for a machine that cannot look them up: the proxy has to refuse private addresses then."
  },
  smtp_url: {
    does: "A mail server, with its credentials in the URL. Without one, mails are files in `outbox/` of the data directory.",
    fallback: "none"
  },
  mail_from: { does: "The sender of mails that go through the mail server." },
  git_committer: {
    does: "The committer of delivered commits, and their author where no account is one. Forges verify signatures by this address."
  },
  push_key: {
    does: "The private key with which the server tells browsers of its sessions, from `reins push-key`. Without one it tells none.",
    fallback: "none"
  },
  rate_limit: { does: "Requests of one caller; `off` for a trusted network or a load test.", unit: "a minute" },
  console: { does: "The console, a page for people at `/ui`, to which `/` leads." },
  acp: {
    does: "`/acp`, where [editors](editors.md#without-the-command) reach the server over HTTP and WebSocket with a key."
  },
  metrics: {
    does: "`GET /metrics` in the form of Prometheus. It asks for no credentials.",
    fallback: "on while host and public URL are loopback"
  },
  log_level: { does: "The least important lines of the log that are written." },
  executor: {
    does: "How agents run: `bubblewrap` is a sandbox, `container` is a container of Podman or Docker, `local` has no boundary. Of several, those that do not work here are left out, the first is the default, and sessions may choose.",
    fallback:
      "`bubblewrap`; where that does not work, `local` with a warning, but only for a server on loopback whose user is not root"
  },
  container_image: {
    does: "The image of the executor `container`, by its digest: `docker.io/library/node@sha256:...`, or the id of an image as `sha256:...`. The engine has to have it.",
    fallback: "none"
  },
  container_engine: {
    does: "The engine of the executor `container`: `podman` or `docker`.",
    fallback: "the first of them that is installed"
  },
  agent_memory_bytes: { does: "The memory of one agent with all that it starts, without swap.", unit: "bytes" },
  agent_processes: { does: "The processes and threads of one agent.", unit: "processes" },
  agent_processors: { does: "The processors of one agent, also in parts, as in `0.5`.", unit: "processors" },
  agent_disk_bytes: {
    does: "The files of the workspace and the home of one agent together, and the size of any one file.",
    unit: "bytes"
  },
  agent_open_files: { does: "The files that one process of an agent may have open.", unit: "files" },
  agent_temporary_bytes: {
    does: "The files of the `/tmp` of one agent, and of its `/dev/shm`. They are in memory.",
    unit: "bytes"
  },
  allow_local_repositories: {
    does: "Repositories may be paths of this machine. Everybody who can create a session can then read what the server can."
  },
  allow_ssh_repositories: {
    does: "Repositories may be reached through SSH, with the keys of connections of the kind `git_ssh` and no other."
  },
  allow_private_hosts: {
    does: "Gateways, forges and git servers that may be on a private address or without TLS, as in `127.0.0.1:11434,gitlab.lan`, or `*` for all.",
    fallback: "none"
  },
  shared_directories: {
    does: "Directories of the machine that every agent may read, in a sandbox too, such as documents or other repositories. Agents that take further roots are told of them.",
    fallback: "none"
  },
  trusted_proxies: {
    does: "Reverse proxies, as in `127.0.0.1,10.0.0.0/8`. Their `X-Forwarded-For`, or else their `Forwarded`, tells where a request comes from. Let them remove the one that they do not write.",
    fallback: "none"
  },
  cors_origins: {
    does: "Origins whose pages may call the API with a key, as in `https://app.example.com` or `tauri://localhost`; never with a login.",
    fallback: "none"
  },
  max_running_turns: { does: "The turns that run at once on a server. The others wait.", unit: "turns" },
  turn_minutes: { does: "The longest that one turn may take.", unit: "minutes" },
  interaction_minutes: { does: "How long an agent waits for the answer of a person.", unit: "minutes" },
  idle_minutes: { does: "How long an unused executor is kept. Its workspace stays.", unit: "minutes" },
  agent_idle_minutes: {
    does: "How long an agent is kept ready for the next turn of its session; 0 stops it after each turn.",
    unit: "minutes"
  },
  max_idle_agents: {
    does: "The agents that are kept ready at once. The one that was used least recently gives way.",
    fallback: "8 for each core"
  },
  agent_free_bytes: {
    does: "The memory of the machine that agents kept ready leave free. While less is available, they give way one by one, the least recently used first; 0 lets none give way.",
    unit: "bytes",
    fallback: "half of what was available at the start"
  },
  prewarm: {
    does: "Makes the workspace of a new session and starts its agent before its first message comes, where there is room for one more agent. Not while `working_trees_per_workspace` is set. A session that is created with `prewarm: false` is left alone."
  },
  setup_snapshot_days: {
    does: "How long what the setup of a project has left is kept after its last use.",
    unit: "days"
  },
  setup_snapshot_bytes: {
    does: "The space of all that setups have left. The one that was used least recently gives way.",
    unit: "bytes"
  },
  lease_seconds: {
    does: "Advanced: after how long without a word the work of a server is taken over. It gives one three times as often.",
    unit: "seconds"
  },
  heartbeat_seconds: {
    does: "Advanced: how often an event stream beats, and half of how long its reader may rest.",
    unit: "seconds"
  },
  request_seconds: { does: "Advanced: how long a request may take to arrive.", unit: "seconds" },
  message_characters: { does: "The text of one message.", unit: "characters" },
  json_body_bytes: { does: "The body of a request that is no upload; 16 KiB at most before a login.", unit: "bytes" },
  upload_bytes: { does: "An uploaded file.", unit: "bytes" },
  file_read_bytes: { does: "The part of a file that one read answers with.", unit: "bytes" },
  diff_bytes: { does: "A whole diff. A longer one is cut, and says so.", unit: "bytes" },
  diff_file_bytes: { does: "The diff of one file.", unit: "bytes" },
  diff_files: { does: "The files of one diff.", unit: "files" },
  queued_turns: { does: "The turns that wait in a session.", unit: "turns" },
  delegation_depth: { does: "How deep delegations nest.", unit: "levels" },
  live_delegations: { does: "The delegations of a session that live at once.", unit: "delegations" },
  tree_delegations: {
    does: "The delegations of all sessions together that work for one another.",
    unit: "delegations"
  },
  delegation_seconds: { does: "The time after which a delegation without a result fails.", unit: "seconds" },
  artifact_bytes: { does: "A file that an agent publishes.", unit: "bytes" },
  artifacts_per_turn: { does: "The files that the agent of one turn publishes.", unit: "files" },
  artifacts_per_session: { does: "The published files that a session keeps.", unit: "files" },
  tool_calls_per_turn: { does: "The calls of tools in one turn.", unit: "calls" },
  open_tool_calls: { does: "The calls of tools of one turn that are open at once.", unit: "calls" },
  offered_tools: {
    does: "The tools that an agent is offered, those of the service, of servers and the functions together. Model gateways refuse more than 128, and agents have tools of their own besides.",
    unit: "tools"
  },
  tool_input_characters: {
    does: "The input of a call of a tool, as JSON. The model is told to call with less where it is longer.",
    unit: "characters"
  },
  tool_answer_characters: {
    does: "The answer of a tool that a model gets. A longer one is cut in the middle, and the agent gets a file with the whole.",
    unit: "characters"
  },
  tool_answer_images: {
    does: "The images of an answer of a tool that a model gets. An answer of a server with more says how many are left out; one of a function is refused.",
    unit: "images"
  },
  server_answer_bytes: {
    does: "The answer of a server of a project. A longer one is not read to its end, and the model is told.",
    unit: "bytes"
  },
  servers_per_version: { does: "The servers of tools that a project version names.", unit: "servers" },
  server_tools_per_version: {
    does: "The tools that all servers of a project version are allowed together, within the tools that an agent is offered.",
    unit: "tools"
  },
  registrations_per_hour: {
    does: "The accounts that one client may register within an hour; any number when the rate limit is off.",
    unit: "accounts"
  },
  sessions_per_workspace: {
    does: "The sessions of a workspace that are not closed. Beyond them a new one is refused with `quota_exhausted`.",
    fallback: "any number"
  },
  working_trees_per_workspace: {
    does: "The working trees of a workspace, each a clone of its repository. Beyond them a turn or an upload that needs another one is refused.",
    fallback: "any number"
  },
  disk_bytes_per_workspace: {
    does: "The bytes that all sessions of a workspace take on the disk, as `du` measures them every minute. Beyond them new sessions, messages and uploads are refused with `quota_exhausted`; a turn that runs goes on.",
    fallback: "any number"
  },
  streams_per_session: {
    does: "The event streams of one caller on one session; any number when the rate limit is off.",
    unit: "streams"
  },
  event_retention_days: {
    does: "How long the events of a closed session are kept after the last of them.",
    unit: "days",
    fallback: "for ever"
  }
}

/** Variables besides the settings that the programs read, and what for. */
export const otherVariables: Readonly<Record<string, string>> = {
  REINS_PASSWORD: "The password for `reins accounts create` and `reins init`, where nobody can be asked for it.",
  REINS_URL: "The server that `reins run`, `reins sessions` and `reins keys` call.",
  REINS_API_KEY: "The key that they call it with. Without the two, what `reins init` stored is taken.",
  REINS_GATEWAY_KEY: "The key of the gateway for `reins init`.",
  REINS_GIT_TOKEN: "The token for `reins connections add`, where nobody can be asked for it.",
  XDG_CONFIG_HOME:
    "Where configurations are. `reins init` stores server and key in `reins/profile.json` in it, or in `~/.config`.",
  XDG_STATE_HOME:
    "Where states are. The commands keep the agents and models that you chose last in `reins/choices.json` in it, or in `~/.local/state`.",
  "GIT_PAGER, PAGER": "The pager of diffs on a terminal, where git names none.",
  TERM: "The kind of the terminal. One that is `dumb` has no pager and no colours.",
  OTEL_EXPORTER_OTLP_ENDPOINT: "The collector that traces, figures and logs are sent to; none when not set.",
  OTEL_EXPORTER_OTLP_PROTOCOL: "`http/protobuf`, which is the default, or `http/json`.",
  OTEL_EXPORTER_OTLP_HEADERS: "Headers for the collector, as in `name=value,other=value`.",
  OTEL_SERVICE_NAME: "The name of the service in traces; `reins` by default.",
  OTEL_RESOURCE_ATTRIBUTES: "Other attributes of what is sent.",
  OTEL_SDK_DISABLED: "`true` sends nothing.",
  OTEL_SEMCONV_STABILITY_OPT_IN:
    "A list with commas. With `gen_ai_latest_experimental` in it, [agents](traces.md) are in the traces and figures; other words change nothing.",
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT:
    "`SPAN_ONLY` sends the words of people, agents and tools in these traces too, without secrets. `NO_CONTENT` is the default.",
  REINS_NPM_REGISTRY:
    "The registry that agents are installed from, and that `reins harnesses lock` asks; that of npm unless it is set.",
  "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN":
    "The credentials for a bucket of `REINS_BLOBS`, as AWS's own tools read them.",
  "AWS_REGION, AWS_DEFAULT_REGION":
    "The region of that bucket, where `REINS_BLOBS` names none; `us-east-1` without them.",
  XDG_CACHE_HOME: "Where caches are. `cache_dir` is `reins` in it unless it is set.",
  NODE_EXTRA_CA_CERTS:
    "A PEM file of your own certificate authorities, for gateways and forges. Node reads it; agents are given it.",
  PATH: "Where git is found. Agents are given it.",
  REINS_WITHOUT_PROC:
    "`1` makes a server on Linux work as on a system without `/proc`, to try that. Its agents have no sandbox then. See [platforms](self-hosting.md#platforms).",
  "LANG, LC_ALL, TZ": "Language and time zone, which agents are given.",
  "SSL_CERT_FILE, SSL_CERT_DIR, GIT_SSL_CAINFO": "Certificate authorities for git; agents are given the first two."
}
