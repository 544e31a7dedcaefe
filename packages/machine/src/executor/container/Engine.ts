import { execFile } from "node:child_process"
import { availableParallelism } from "node:os"
import { cutText } from "@reins/base/base/CutText"
import { Data, Effect, ParseResult, Schema } from "effect"
import type { SweepCommand } from "../Executor.js"

/** A container engine does not work here. The message says why, and what can be done. */
export class ContainerUnavailable extends Data.TaggedError("ContainerUnavailable")<{ readonly message: string }> {}

/** The engines that run containers, in the order in which they are looked for. */
export const engineNames = ["podman", "docker"] as const
export type EngineName = (typeof engineNames)[number]

/** A container engine that answers. */
export interface ContainerEngine {
  readonly name: EngineName
  readonly version: string
  /** True when the engine itself runs without rights of the machine. */
  readonly rootless: boolean
  /** The cgroups that it limits containers with; null where it can limit nothing by them. */
  readonly cgroup: "cgroup_v1" | "cgroup_v2" | null
  /** The resources that it can limit by cgroups. */
  readonly limits: { readonly memory: boolean; readonly processes: boolean; readonly processors: boolean }
  /** The processors of the machine. Docker refuses a container that may have more. */
  readonly processors: number
}

/** The image that agents run in, as the engine has it. */
export interface Image {
  readonly id: string
  /** The variables that it sets, each as `NAME=value`. */
  readonly environment: ReadonlyArray<string>
}

/** The variables that an engine reads itself. It gets no other of the service, which may hold secrets. */
const ownVariables =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|TMPDIR|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+|STORAGE_\w+)$/

/** The environment of a command of the engine. */
export const engineEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && ownVariables.test(name) ? [[name, value]] : []
    )
  )

const commandMs = 60_000

/** The words of a command of the engine, and its end. */
export interface Said {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of an engine to its end. An engine that is not there fails with `ENOENT` on stderr. */
export const runEngine = (name: EngineName, args: ReadonlyArray<string>): Effect.Effect<Said> =>
  Effect.async((resume) => {
    const child = execFile(
      name,
      [...args],
      { env: engineEnvironment(), timeout: commandMs, killSignal: "SIGKILL", maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) =>
        resume(
          Effect.succeed({
            failed: error !== null,
            stdout,
            stderr: error === null || stderr.trim() !== "" ? stderr : `${error.code ?? error.signal ?? "it failed"}`
          })
        )
    )
    child.stdin?.end()
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** The advice for the words with which an engine fails. */
const advice: ReadonlyArray<readonly [RegExp, string]> = [
  [/ENOENT/, "it is not installed, or not on the PATH of the service; on Debian: apt-get install podman"],
  [/init binary|catatonit|docker-init/i, "its small init is not installed; on Debian: apt-get install catatonit"],
  [
    /newuidmap|newgidmap|subuid|subgid|not enough (?:unused )?IDs|insufficient UIDs/i,
    "rootless containers are not set up for the service's user: install uidmap, and give the user a range in /etc/subuid and /etc/subgid, " +
      "as with usermod --add-subuids 200000-265535 --add-subgids 200000-265535"
  ],
  [
    /user namespaces? (?:are|is) not enabled|cannot (?:clone|re-exec)|unshare|CLONE_NEWUSER/i,
    "this machine allows no user namespaces to the service's user; in a container that is its seccomp profile, and elsewhere see the sysctl " +
      "user.max_user_namespaces"
  ],
  [
    /XDG_RUNTIME_DIR|runroot|rundir|\/run\/user/i,
    "the service's user has no directory for running containers: set XDG_RUNTIME_DIR to one of its own, or run loginctl enable-linger for it"
  ],
  [
    /hybrid mode/i,
    "this machine mounts cgroups of both versions, which the runtime crun refuses: start the machine with " +
      "systemd.unified_cgroup_hierarchy=1"
  ],
  [
    /unknown flag|unrecognized|invalid option|unknown option/i,
    "its version is too old; Podman 4.3 and Docker 23 are enough"
  ],
  [
    /connect to the Docker daemon|docker\.sock|daemon running/i,
    "its daemon does not answer: start it, and give the service's user the right to use it"
  ]
]

/** The first line of the words of an engine that says something, without the marks of its log. */
const quoted = (said: string): string => {
  const lines = said.split("\n").filter((line) => line.trim() !== "" && !/level=(?:warning|info)/.test(line))
  return cutText((lines[0] ?? said.split("\n")[0] ?? "").trim(), 300)
}

/** The failure for the words of an engine. */
export const unavailable = (name: EngineName, said: string): ContainerUnavailable => {
  const known = advice.find(([words]) => words.test(said))?.[1]
  const why = known === undefined ? quoted(said) : /ENOENT/.test(said) ? known : `${known} (${quoted(said)})`
  return new ContainerUnavailable({ message: `The container engine ${name} does not work here: ${why}.` })
}

const Ignored = Schema.Unknown

const PodmanInfo = Schema.parseJson(
  Schema.Struct({
    host: Schema.Struct({
      cgroupControllers: Schema.NullOr(Schema.Array(Schema.String)),
      cgroupVersion: Schema.String,
      cpus: Schema.Number,
      idMappings: Schema.optional(
        Schema.Struct({ uidmap: Schema.NullOr(Schema.Array(Schema.Struct({ size: Schema.Number }))) })
      ),
      serviceIsRemote: Schema.optional(Schema.Boolean),
      security: Schema.Struct({ rootless: Schema.Boolean, seccompEnabled: Schema.Boolean })
    }),
    version: Schema.Struct({ Version: Schema.String })
  })
)

const DockerInfo = Schema.parseJson(
  Schema.Struct({
    ServerVersion: Schema.optional(Schema.String),
    ServerErrors: Schema.optional(Schema.Array(Schema.String)),
    CgroupVersion: Schema.optional(Schema.String),
    CgroupDriver: Schema.optional(Schema.String),
    MemoryLimit: Schema.optional(Schema.Boolean),
    PidsLimit: Schema.optional(Schema.Boolean),
    CpuCfsQuota: Schema.optional(Schema.Boolean),
    NCPU: Schema.optional(Schema.Number),
    SecurityOptions: Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))
  })
)

const ImageList = Schema.parseJson(
  Schema.NonEmptyArray(
    Schema.Struct({
      Id: Schema.String,
      Config: Schema.optional(
        Schema.Struct({
          Env: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))),
          Volumes: Schema.optional(Schema.NullOr(Schema.Record({ key: Schema.String, value: Ignored })))
        })
      )
    })
  )
)

const decoded = <A>(name: EngineName, schema: Schema.Schema<A, string>, text: string) =>
  Effect.mapError(Schema.decode(schema)(text), (issue) =>
    unavailable(
      name,
      `it says what this release does not understand: ${ParseResult.TreeFormatter.formatErrorSync(issue)}`
    )
  )

/** The users that a container needs: those of its image, and the agent. */
const leastUsers = 1001

const podman = Effect.gen(function* () {
  const said = yield* runEngine("podman", ["info", "--format", "json"])
  if (said.failed) return yield* unavailable("podman", said.stderr)
  const { host, version } = yield* decoded("podman", PodmanInfo, said.stdout)
  if (host.serviceIsRemote === true) return yield* unavailable("podman", "it runs containers on another machine")
  if (!host.security.seccompEnabled) return yield* unavailable("podman", "it was built without seccomp")
  const users = (host.idMappings?.uidmap ?? []).reduce((sum, { size }) => sum + size, 0)
  if (host.security.rootless && users < leastUsers)
    return yield* unavailable("podman", "there are no subuid ranges for its user")
  const controllers = host.cgroupControllers ?? []
  const usable = host.cgroupVersion === "v2" || !host.security.rootless
  const has = (controller: string) => usable && controllers.includes(controller)
  const limits = { memory: has("memory"), processes: has("pids"), processors: has("cpu") }
  const engine: ContainerEngine = {
    name: "podman",
    version: version.Version,
    rootless: host.security.rootless,
    cgroup: Object.values(limits).some(Boolean) ? (host.cgroupVersion === "v2" ? "cgroup_v2" : "cgroup_v1") : null,
    limits,
    processors: host.cpus
  }
  return engine
})

const docker = Effect.gen(function* () {
  const said = yield* runEngine("docker", ["info", "--format", "{{json .}}"])
  if (said.failed && said.stdout.trim() === "") return yield* unavailable("docker", said.stderr)
  const info = yield* decoded("docker", DockerInfo, said.stdout)
  const [problem] = info.ServerErrors ?? []
  if (info.ServerVersion === undefined || info.ServerVersion === "")
    return yield* unavailable("docker", problem ?? said.stderr)
  const options = info.SecurityOptions ?? []
  const has = (option: string) => options.some((each) => each.includes(`name=${option}`))
  if (!has("seccomp")) return yield* unavailable("docker", "it was built without seccomp")
  if (has("userns"))
    return yield* unavailable(
      "docker",
      "it gives containers another user than the service's (userns-remap), who cannot write the files of sessions"
    )
  const usable = info.CgroupDriver !== "none"
  const limits = {
    memory: usable && info.MemoryLimit === true,
    processes: usable && info.PidsLimit === true,
    processors: usable && info.CpuCfsQuota === true
  }
  const engine: ContainerEngine = {
    name: "docker",
    version: info.ServerVersion,
    rootless: has("rootless"),
    cgroup: Object.values(limits).some(Boolean) ? (info.CgroupVersion === "2" ? "cgroup_v2" : "cgroup_v1") : null,
    limits,
    processors: info.NCPU ?? availableParallelism()
  }
  return engine
})

/** The engine of a name; without one the first that is installed. Fails with the reason when it does not answer. */
export const findEngine = (name: EngineName | null): Effect.Effect<ContainerEngine, ContainerUnavailable> =>
  Effect.gen(function* () {
    const chosen = name ?? (yield* firstInstalled)
    return yield* chosen === "podman" ? podman : docker
  })

const firstInstalled = Effect.gen(function* () {
  for (const name of engineNames) {
    const said = yield* runEngine(name, ["--version"])
    if (!said.failed) return name
  }
  return yield* new ContainerUnavailable({
    message:
      "There is no container engine on the PATH of the service: install Podman (on Debian: apt-get install podman) or Docker."
  })
})

/** An image that the engine has. Fails where it has not got it, and where the image keeps files of its own. */
export const imageOf = (name: EngineName, reference: string): Effect.Effect<Image, ContainerUnavailable> =>
  Effect.gen(function* () {
    const said = yield* runEngine(name, ["image", "inspect", reference])
    if (said.failed)
      return yield* new ContainerUnavailable({
        message: /no such (?:image|object)|image not known|unable to find|failed to find image/i.test(said.stderr)
          ? `The container engine ${name} does not have the image: run ${name} pull ${reference} as the service's user.`
          : unavailable(name, said.stderr).message
      })
    const [{ Config, Id }] = yield* decoded(name, ImageList, said.stdout)
    const [volume] = Object.keys(Config?.Volumes ?? {})
    if (volume !== undefined)
      return yield* new ContainerUnavailable({
        message: `The image keeps files of its own in the volume ${volume}, which nothing would limit: build one without VOLUME.`
      })
    return { id: Id, environment: Config?.Env ?? [] }
  })

/** The labels of a container of an agent. */
export const labels = { lease: "reins.lease", boot: "reins.boot" } as const

/** Removes the containers of these leases or boots, with everything that runs in them, and gives their number. */
export const removeOf = (name: EngineName, ids: ReadonlyArray<string>): Effect.Effect<number> =>
  Effect.gen(function* () {
    const format = "{{.ID}} {{.Labels}}"
    const { stdout } = yield* runEngine(name, [
      "ps",
      "--all",
      "--no-trunc",
      "--filter",
      `label=${labels.lease}`,
      "--format",
      format
    ])
    const found = stdout.split("\n").flatMap((line) => {
      const [id = "", ...words] = line.split(/[^A-Za-z0-9_.-]+/)
      return words.some((word) => ids.includes(word)) ? [id] : []
    })
    if (found.length > 0) yield* runEngine(name, ["rm", "--force", ...found])
    return found.length
  })

/** The command that removes the containers of a boot. */
export const removalOf = (name: EngineName, bootId: string): SweepCommand => ({
  words: [
    "/bin/sh",
    "-c",
    'found=$("$0" ps --all --quiet --filter "label=$1") && [ -n "$found" ] && "$0" rm --force $found',
    name,
    `${labels.boot}=${bootId}`
  ],
  environment: engineEnvironment()
})
