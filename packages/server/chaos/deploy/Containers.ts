import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterEach } from "vitest"
import { imageSays, root } from "./Deploy.js"

// Containers of the image without an engine: the command lines, environments, volumes and names of a file, as processes of this machine. Each has
// its own mounts and processes, sees its volumes at their paths below /var/lib, and has an address of the loopback network.

/** A container as a file describes it. */
export interface Container {
  /** The names by which others reach it. */
  readonly names: ReadonlyArray<string>
  readonly address: string
  /** The words after the entry point of the image, or the whole command where `entryPoint` says so. */
  readonly command: ReadonlyArray<string>
  readonly entryPoint?: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  /** The directory of this machine that is at each path of the container. */
  readonly volumes: Readonly<Record<string, { readonly from: string; readonly readOnly: boolean }>>
}

/** A container that runs. */
export interface Running {
  /** The URL that it tells of itself. */
  readonly url: Promise<string>
  /** Sends a signal to its first process. */
  readonly signal: (signal: NodeJS.Signals) => void
  /** Its exit code, and all that it wrote. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>
}

const running = new Set<ChildProcess>()
afterEach(async () => {
  await Promise.all(
    [...running].map(async (child) => {
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
    })
  )
})

/** Makes the mounts of a container, and becomes its command. The mounts end with it. */
const inside = `set -e
mount -t tmpfs none /var/lib
mount --bind "$REINS_TEST_HOSTS" /etc/hosts
printf '%s' "$REINS_TEST_MOUNTS" | while read -r from to mode; do
  mkdir -p "$to"
  mount --bind "$from" "$to"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$to"
done
exec "$@"`

/** An address of the loopback network for each container of a run, and their names. */
export class Network {
  private readonly prefix = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`
  private readonly hosts: string
  private used = 0
  private readonly names = new Map<string, string>()

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true })
    this.hosts = join(directory, "hosts")
    writeFileSync(this.hosts, "127.0.0.1 localhost\n")
  }

  /** The address of a container. */
  join(...names: ReadonlyArray<string>): string {
    const address = `${this.prefix}.${++this.used}`
    for (const name of names) this.names.set(name, address)
    const lines = [...this.names].map(([name, at]) => `${at} ${name}`)
    writeFileSync(this.hosts, ["127.0.0.1 localhost", ...lines, ""].join("\n"))
    return address
  }

  /** Starts a container. `changes` are the settings that cannot be as the file has them: those of this machine. */
  start(container: Container, changes: Readonly<Record<string, string>>): Running {
    const mounts = Object.entries(container.volumes).map(([to, { from, readOnly }]) => {
      if (!to.startsWith("/var/lib/")) throw new Error(`a volume at ${to}, which is not below /var/lib`)
      mkdirSync(from, { recursive: true })
      return `${from} ${to} ${readOnly ? "ro" : "rw"}\n`
    })
    const command = [...(container.entryPoint ?? imageSays.entryPoint), ...container.command]
    const own = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--kill-child"]
    const [program = "", ...args] = [...own, "sh", "-c", inside, "sh", ...command]
    const child = spawn(program, args, {
      // The directory in which the image starts.
      cwd: root,
      env: {
        PATH: process.env["PATH"],
        ...imageSays.environment,
        ...container.environment,
        ...changes,
        REINS_HOST: container.address,
        REINS_TEST_HOSTS: this.hosts,
        REINS_TEST_MOUNTS: mounts.join("")
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    return follow(child)
  }
}

const follow = (child: ChildProcess): Running => {
  running.add(child)
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      output += String(chunk)
    })
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once("close", (code) => {
      running.delete(child)
      resolve({ code, output })
    })
  )
  const url = new Promise<string>((resolve, reject) => {
    if (child.stdout === null) return reject(new Error("no output"))
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line).url))
    void ended.then(({ code }) => reject(new Error(`It ended with ${code}:\n${output}`)))
  })
  // A caller may wait for the end alone.
  url.catch(() => undefined)
  const signal = (name: NodeJS.Signals) => {
    const [first = ""] = execFileSync("pgrep", ["--parent", String(child.pid)], { encoding: "utf8" })
      .trim()
      .split("\n")
    process.kill(Number(first), name)
  }
  return { url, signal, ended }
}
