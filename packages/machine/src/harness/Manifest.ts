import { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { Schema } from "effect"
import { StopPolicy } from "../executor/StopPolicy.js"
import { CapabilityValue } from "./Capability.js"
import { Evidence } from "./Evidence.js"

export const Capabilities = Schema.Struct({
  event_stream: CapabilityValue,
  model_discovery: CapabilityValue,
  native_resume: CapabilityValue,
  native_state_export: CapabilityValue,
  usage: CapabilityValue,
  interrupt: CapabilityValue,
  steer: CapabilityValue,
  interactive_approval: CapabilityValue,
  credential_writeback: CapabilityValue,
  tool_calls: CapabilityValue
}).annotations({ identifier: "HarnessCapabilities" })
export type Capabilities = typeof Capabilities.Type

const exactOptional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The source of a regular expression that ignores case. */
export const regexSource = Schema.String.pipe(
  Schema.filter((source) => {
    try {
      new RegExp(source, "i")
      return true
    } catch {
      return "must be a regular expression"
    }
  })
)

/**
 * A text with `{{placeholders}}`: `home`, `workspace`, `install`, `executable`, `node`, `model`, `connection.<setting>`, `permissions.<name>`
 * and `tool_servers`. The last is the names of the servers of tools that the agent is told of, with commas between them. Where there are none, it is a
 * name that no server has. Of the setting `base_url` there are also `connection.root`, which is without the version at its end,
 * `connection.origin` and `connection.path`, which together are all of it. `{{name|default}}` gives a default. `{{json name}}` writes a quoted
 * JSON string, which is also a TOML string.
 */
export const Template = Schema.String.pipe(
  Schema.filter((text) => !/\{\{[^}]*secret\./.test(text) || "a secret may only be named in environment")
)

/**
 * One npm package, pinned by version and by the digest of its tarball. `path` is the directory that it is unpacked into, by default
 * `node_modules/<name>`.
 */
export const PinnedPackage = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  integrity: Schema.String.pipe(Schema.pattern(/^sha512-[A-Za-z0-9+/]{86}==$/)),
  path: exactOptional(Schema.String.pipe(Schema.pattern(/^node_modules\/(?!.*\.\.)[\w@./-]+$/)))
})
export type PinnedPackage = typeof PinnedPackage.Type

/** The packages that one kind of machine needs besides the common ones. The first platform that fits the machine is used. */
export const Platform = Schema.Struct({
  id: Schema.String.pipe(Schema.pattern(/^[a-z0-9-]+$/)),
  os: Schema.Literal("linux", "darwin", "win32"),
  cpu: Schema.Literal("x64", "arm64"),
  libc: exactOptional(Schema.Literal("glibc", "musl")),
  cpu_flags: exactOptional(Schema.Array(Schema.String)),
  packages: Schema.Array(PinnedPackage),
  /** The path of the program, relative to the install directory. */
  executable: Schema.String
})
export type Platform = typeof Platform.Type

/**
 * A way to run with a connection or without one. The first profile that fits is used. `connection` says whether there is a connection, every
 * named setting must have one of the listed values, and every named secret must be there.
 */
export const Profile = Schema.Struct({
  id: Schema.String,
  when: Schema.Struct({
    connection: Schema.Boolean,
    settings: exactOptional(Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) })),
    secrets: exactOptional(Schema.Array(Schema.String))
  }),
  /**
   * The variables of the agent's process. A template may also name `secret.<name>` here. A value that is not a text becomes JSON, after its
   * texts were rendered.
   */
  environment: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  files: Schema.Array(Schema.Struct({ path: Template, content: Template }))
})
export type Profile = typeof Profile.Type

const relativePath = Schema.String.pipe(Schema.pattern(/^(?!\/)(?!.*(?:^|\/)\.\.?(?:\/|$))[^\0\\]+$/))

/**
 * The places in a workspace that the agent's program writes for itself, without its model. Paths are relative to the workspace. A change there is no
 * work of the agent, and a change that its model makes is.
 */
export const OwnFiles = Schema.Struct({
  /** Files and, with a slash at the end, folders that the program may rewrite while it opens a session. */
  settings: Schema.Array(relativePath),
  /** Folders that the program installs an npm package into, at any time. */
  packages: exactOptional(Schema.Array(Schema.Struct({ folder: relativePath, package: Schema.String })))
})
export type OwnFiles = typeof OwnFiles.Type

/**
 * The manner in which the agent calls tools that a server of the Model Context Protocol offers. Only an agent whose manifest has it is offered any.
 */
export const ToolManners = Schema.Struct({
  /** The time after which the agent gives up a call of which it hears nothing is longer than this, in seconds. */
  hold_seconds: Schema.Int.pipe(Schema.positive()),
  /** True for an agent that waits for as long as it hears of progress. */
  progress: Schema.Boolean,
  /** `always_load`: it hides tools from its model unless they say that they are always to be there. */
  needs: Schema.Array(Schema.Literal("always_load")),
  /** False for an agent that passes no image of an answer on to its model. */
  images: exactOptional(Schema.Boolean)
})
export type ToolManners = typeof ToolManners.Type

/**
 * The files of a workspace in which the agent's program finds servers of tools, and starts them by itself. Its program has no switch for that, so
 * sessions are told of such files. Absent for an agent that starts none.
 */
export const ForeignServers = Schema.NonEmptyArray(relativePath)

/** The places below the agent's home in which it looks for instructions and skills. */
export const GuidancePlaces = Schema.Struct({
  /** The file of instructions. */
  instructions: relativePath,
  /** The folder with one folder for each skill; null for an agent that has none. It reads their texts as instructions. */
  skills: Schema.NullOr(relativePath)
})
export type GuidancePlaces = typeof GuidancePlaces.Type

export const FailureReason = Schema.Literal(
  "credential_invalid",
  "quota_exhausted",
  "timeout",
  "harness_crashed",
  "output_invalid",
  "executor_unavailable",
  "context_unavailable",
  "context_exceeded",
  "answer_cut",
  "answer_withheld",
  "upstream_error"
)
export type FailureReason = typeof FailureReason.Type

/** The installation and the launch of the agent that a provider is bound to. */
export const Runtime = Schema.Struct({
  /** The name of the driver for the agent's protocol. */
  driver: Schema.String,
  agent: Schema.Struct({ name: Schema.String, version: Schema.String, license: Schema.String }),
  install: Schema.Struct({ packages: Schema.Array(PinnedPackage), platforms: Schema.Array(Platform) }),
  launch: Schema.Struct({
    command: Template,
    args: Schema.Array(Template),
    environment: Schema.Record({ key: Schema.String, value: Template }),
    /**
     * Values for the templates, as `permissions.<name>`: those of `allow` for an agent that acts by itself, and those of `ask` for one that is to
     * ask first.
     */
    permissions: exactOptional(
      Schema.Struct({
        allow: Schema.Record({ key: Schema.String, value: Schema.String }),
        ask: Schema.Record({ key: Schema.String, value: Schema.String })
      })
    ),
    /** The directory below the agent's home that TMPDIR names. */
    tmp_dir: Schema.String.pipe(Schema.pattern(/^(?!.*\.\.)[\w./-]+$/)),
    profiles: Schema.Array(Profile),
    /** The error message when no profile fits the connection. */
    no_profile: Schema.String
  }),
  /** The settings of the driver, which has the schema for them. */
  settings: Schema.Unknown,
  stop: StopPolicy,
  /** The files and directories below the agent's home that hold its native sessions. `ignore` names files that are no part of the state. */
  state: Schema.Struct({ paths: Schema.Array(Schema.String), ignore: Schema.Array(regexSource) })
})
export type Runtime = typeof Runtime.Type

/** A provider: its tier, its credential and its capabilities. An enabled provider also has the agent that it runs. */
export const Manifest = Schema.Struct({
  provider_id: Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9_-]{0,63}$/)),
  display_name: Schema.String,
  tier: Schema.Literal("supported", "experimental", "disabled"),
  credential: Schema.NullOr(
    Schema.Struct({
      connection_kind: Schema.String,
      required: Schema.Boolean,
      /** The values of the setting `protocol` that the agent can speak with; all when absent. */
      protocols: exactOptional(Schema.NonEmptyArray(GatewayProtocol)),
      /** The base URL for a connection that has an `api_key` and no `base_url`. */
      default_base_url: exactOptional(Schema.String)
    })
  ),
  capabilities: Capabilities,
  /** The paths that the agent's program writes in a workspace for itself; none when absent. */
  own_files: exactOptional(OwnFiles),
  /** The way in which the agent calls tools; it is offered none when absent. */
  tools: exactOptional(ToolManners),
  /** The files that name servers which the agent starts by itself; it starts none when absent. */
  foreign_servers: exactOptional(ForeignServers),
  /** The places of instructions and skills; it gets none when absent. */
  guidance: exactOptional(GuidancePlaces),
  runtime: Schema.NullOr(Runtime),
  /** The evidence of trials of the agent. A capability without it is not relied on. */
  evidence: exactOptional(Evidence)
})
  .pipe(
    Schema.filter(
      (manifest) =>
        (manifest.tier === "disabled") === (manifest.runtime === null) ||
        "a provider is bound to an agent unless it is disabled"
    ),
    Schema.filter(
      ({ capabilities, tools }) =>
        capabilities.tool_calls !== "supported" ||
        tools !== undefined ||
        "tool_calls needs tools, which says how it calls them"
    )
  )
  .annotations({ identifier: "HarnessManifest" })
export type Manifest = typeof Manifest.Type
