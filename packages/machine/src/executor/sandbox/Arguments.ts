import { existsSync, lstatSync } from "node:fs"
import { dirname, join } from "node:path"
import { Option } from "effect"
import { socketInside } from "./Bridge.js"

/** A directory of the machine, and the path at which the agent finds it. */
export type Mount = readonly [source: string, target: string]

/** The files and directories of an agent in its sandbox. */
export interface Contents {
  /** Paths that the agent can read. They are the same inside as outside. */
  readonly readable: ReadonlyArray<string>
  /** The directories that the agent can write. */
  readonly writable: ReadonlyArray<Mount>
  /** The working directory, as the agent finds it. */
  readonly directory: string
  /** The socket that leads to the relays; undefined for an agent without a network. */
  readonly socket: string | undefined
  /** The size of each directory in memory, in bytes. */
  readonly temporaryBytes: number
}

/** The user that an agent is in its sandbox. */
const user = "1000"

/** Small files of our own in the place of the machine's. Those hold names of people and of hosts. */
const ownFiles: Readonly<Record<string, string>> = {
  "/etc/passwd": `root:x:0:0:root:/:/bin/sh\nagent:x:${user}:${user}:agent:/:/bin/sh\n`,
  "/etc/group": `root:x:0:\nagent:x:${user}:\n`,
  "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
  "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n"
}

/** The files of the machine that programs need and that hold nothing about it. */
const commonFiles = [
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
  "/etc/ca-certificates.conf",
  "/usr/share/ca-certificates",
  "/etc/alternatives",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/terminfo"
]

/** The directories that are links into /usr on most machines, and directories of their own on some. */
const system = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"]

const systemMounts = (): ReadonlyArray<string> =>
  system.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return []
    return found.isSymbolicLink() ? ["--symlink", `usr${path}`, path] : ["--ro-bind", path, path]
  })

/** The directory of the Node that runs this service, for the search path of agents. */
export const nodeDirectory = (): string => dirname(process.execPath)

/**
 * The Node that runs this service, where it is not in /usr: the program and its npm, and nothing else of the directory that they are in, which
 * can be the home of a person.
 */
const nodeMounts = (): ReadonlyArray<string> => {
  if (process.execPath.startsWith("/usr/")) return []
  const npm = join(dirname(nodeDirectory()), "lib/node_modules/npm")
  const links = existsSync(npm)
    ? ["npm", "npx"].flatMap((name) => [
        "--symlink",
        `../lib/node_modules/npm/bin/${name}-cli.js`,
        join(nodeDirectory(), name)
      ])
    : []
  return ["--ro-bind", process.execPath, process.execPath, "--ro-bind-try", npm, npm, ...links]
}

/** The contents of bubblewrap's descriptors from 3 on, in this order: the filter, and our own files. */
export const givenTo = (filter: Uint8Array): ReadonlyArray<Uint8Array> => [
  filter,
  ...Object.values(ownFiles).map((text) => Buffer.from(text))
]

/** The descriptor after those, to which bubblewrap tells what it has started. */
const toldAt = String(3 + 1 + Object.keys(ownFiles).length)

/**
 * The arguments of bubblewrap before the program: namespaces of its own, no rights, and nothing of the machine but what is listed. The order
 * matters: a directory in memory comes before what is mounted below it, and the root is closed last.
 */
export const sandboxArguments = (contents: Contents): ReadonlyArray<string> => {
  const size = String(contents.temporaryBytes)
  return [
    ...["--unshare-user", "--disable-userns", "--uid", user, "--gid", user, "--unshare-pid", "--unshare-net"],
    ...["--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox", "--cap-drop", "ALL"],
    ...["--die-with-parent", "--new-session", "--seccomp", "3", "--info-fd", toldAt],
    ...["--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    // The agent owns the files of its init in /proc, and init has no filter, so none of them may be written.
    ...["--remount-ro", "/proc", "--size", size, "--tmpfs", "/tmp"],
    ...["--ro-bind", "/usr", "/usr", ...systemMounts(), ...nodeMounts()],
    ...commonFiles.flatMap((path) => ["--ro-bind-try", path, path]),
    ...Object.keys(ownFiles).flatMap((path, index) => ["--ro-bind-data", String(4 + index), path]),
    ...contents.readable.flatMap((path) => ["--ro-bind", path, path]),
    ...contents.writable.flatMap(([source, target]) => ["--bind", source, target]),
    ...(contents.socket === undefined ? [] : ["--ro-bind", contents.socket, socketInside]),
    ...["--remount-ro", "/", "--chdir", contents.directory, "--"]
  ]
}

/** The group of the agent's processes, in the numbers of this machine, from what bubblewrap has told. Its first process leads it. */
export const groupIn = (told: string): number | undefined => {
  const pid = /"child-pid":\s*(\d+)/.exec(told)?.[1]
  return pid === undefined ? undefined : Number(pid)
}

/** The number of the agent's process namespace, from what bubblewrap has told. */
export const namespaceIn = (told: string): Option.Option<string> =>
  Option.fromNullable(/"pid-namespace":\s*(\d+)/.exec(told)?.[1])
