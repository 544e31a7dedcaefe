import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import type { AgentLimits } from "@reins/base/base/AgentLimits"
import { ExecutorError } from "../Executor.js"
import { type Mount, nodeDirectory } from "../sandbox/Arguments.js"
import { socketInside } from "../sandbox/Bridge.js"
import { hardLimit } from "../sandbox/HardLimit.js"
import { type ContainerEngine, labels } from "./Engine.js"

/** The files of ours that every container is given. */
export interface ContainerFiles {
  readonly seccomp: string
  readonly passwd: string
  readonly group: string
  readonly hosts: string
}

/** A container that is to be started. */
export interface Container {
  readonly name: string
  readonly leaseId: string
  readonly bootId: string
  readonly image: string
  /** Paths that the agent can read. They are the same inside as outside. */
  readonly readable: ReadonlyArray<string>
  /** The directories that the agent can write. */
  readonly writable: ReadonlyArray<Mount>
  /** The working directory, as the agent finds it. */
  readonly directory: string
  /** The socket that leads to the relays; undefined for an agent without a network. */
  readonly socket: string | undefined
  /** The marks as `soft:hard`, in a limit that limits nothing. */
  readonly marks: string
  readonly files: ContainerFiles
  readonly limits: AgentLimits
}

/** The user that an agent is in its container, and its group. */
export const userOf = ({
  name,
  rootless
}: Pick<ContainerEngine, "name" | "rootless">): readonly [uid: number, gid: number] => {
  if (name === "podman") return [1000, 1000]
  // A rootless Docker knows its own user as root, and any other is somebody else to the files of the session.
  return rootless ? [0, 0] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
}

/** The user inside is the service's user outside, so that the files of the session are its own. */
const userWords = (engine: ContainerEngine): ReadonlyArray<string> => {
  const [uid, gid] = userOf(engine)
  const mapped = engine.name === "podman" ? ["--userns", `keep-id:uid=${uid},gid=${gid}`] : []
  return [...mapped, "--user", `${uid}:${gid}`]
}

/** The words that only one of the engines knows. */
const particular = ({ name }: ContainerEngine): ReadonlyArray<string> =>
  name === "podman"
    ? [
        // Nothing below /proc can be written, and nothing of /sys is seen.
        ...["--security-opt", "proc-opts=ro,nosuid,nodev,noexec", "--security-opt", "mask=/sys"],
        ...[
          "--read-only-tmpfs=false",
          "--http-proxy=false",
          "--image-volume",
          "ignore",
          "--no-hosts",
          "--passwd=false"
        ],
        ...["--sdnotify", "ignore", "--stop-signal", "SIGKILL"]
      ]
    : // Docker can close no file of /proc. An empty directory hides /sys.
      ["--tmpfs", "/sys:ro,size=4k"]

const mounted = (source: string, target: string, options: string): ReadonlyArray<string> => [
  "--mount",
  `type=bind,source=${source},target=${target}${options}`
]
const readable = (path: string, target = path) => mounted(path, target, ",readonly")
const writable = ([source, target]: Mount) => mounted(source, target, "")

/** The Node that runs this service and its npm. The image has the rest. */
const nodeWords = (): ReadonlyArray<string> => {
  const npm = join(dirname(nodeDirectory()), "lib/node_modules/npm")
  return [...readable(process.execPath), ...(existsSync(npm) ? readable(npm) : [])]
}

const rlimit = (name: string, value: number | string): ReadonlyArray<string> => ["--ulimit", `${name}=${value}`]
const both = (value: number): string => `${value}:${value}`

const limitWords = (
  { limits: able, processors }: ContainerEngine,
  limits: AgentLimits,
  marks: string
): ReadonlyArray<string> => [
  ...(able.memory ? ["--memory", String(limits.memoryBytes), "--memory-swap", String(limits.memoryBytes)] : []),
  ...(able.processes ? ["--pids-limit", String(limits.processes)] : []),
  ...(able.processors ? ["--cpus", String(Math.min(limits.processors, processors))] : []),
  ...rlimit("nofile", both(Math.min(limits.openFiles, hardLimit("Max open files")))),
  ...(able.processes ? [] : rlimit("nproc", both(Math.min(limits.processes, hardLimit("Max processes"))))),
  ...rlimit("fsize", both(limits.diskBytes)),
  ...rlimit("core", both(0)),
  ...rlimit("rttime", marks)
]

/** True for a path that an engine takes as it is. A comma would end it. */
const plain = (path: string): boolean => !/[,"\n]/.test(path)

/** A path of the container that an engine cannot be told; undefined where it can be told all. */
export const refusedPath = ({ readable: read, writable: written }: Pick<Container, "readable" | "writable">) => {
  const path = [...read, ...written.flat(), process.execPath].find((each) => !plain(each))
  return path === undefined
    ? undefined
    : new ExecutorError({
        kind: "spawn_failed",
        message: `A container cannot be given the path ${JSON.stringify(path)}: use a data directory and a cache directory without commas and quotes.`
      })
}

/** The words of an engine before the program: nothing of the machine but what is listed, no rights, and no network but one socket. */
export const containerArguments = (engine: ContainerEngine, container: Container): ReadonlyArray<string> => {
  const { bootId, directory, files, image, leaseId, limits, marks, name, socket } = container
  const memory = `rw,exec,nosuid,nodev,mode=1777,size=${limits.temporaryBytes}`
  const cgroups =
    engine.name === "podman" && engine.cgroup === null ? ["--cgroups", "disabled"] : ["--cgroupns", "private"]
  return [
    ...["run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name],
    ...["--label", `${labels.lease}=${leaseId}`, "--label", `${labels.boot}=${bootId}`],
    ...["--network", "none", "--ipc", "private", "--hostname", "sandbox", ...cgroups, ...userWords(engine)],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt", `seccomp=${files.seccomp}`],
    ...["--security-opt", "label=disable", "--read-only", "--log-driver", "none", "--no-healthcheck"],
    ...particular(engine),
    ...limitWords(engine, limits, marks),
    ...["--tmpfs", `/tmp:${memory}`, "--shm-size", String(limits.temporaryBytes)],
    ...readable(files.passwd, "/etc/passwd"),
    ...readable(files.group, "/etc/group"),
    ...(engine.name === "podman" ? readable(files.hosts, "/etc/hosts") : []),
    ...nodeWords(),
    ...container.readable.flatMap((path) => readable(path)),
    ...container.writable.flatMap(writable),
    ...(socket === undefined ? [] : readable(socket, socketInside)),
    ...["--workdir", directory, "--entrypoint", "/usr/bin/env", image]
  ]
}
