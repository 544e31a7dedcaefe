import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"

/** The published server, the build with failpoints, which takes another agent for alpha, and the release after this one. */
export const published = join(import.meta.dirname, "../../../server/dist/main.js")
export const nextRelease = join(import.meta.dirname, "../../../server/dist-next/main.js")
const breakable = join(import.meta.dirname, "../../../server/dist-failpoints/main.js")

export interface ServerOptions {
  readonly dataDir: string
  /** Settings and other variables, besides those of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** `name` or `name:n`. The server ends itself with SIGKILL when it passes that point for the n-th time. */
  readonly failpoint?: string
  /** A file that names the point in the same way. It may be written while the server runs. */
  readonly failpointFile?: string
  /** True for the build with failpoints, where none is named here. */
  readonly breakable?: boolean
  /** Another build of the server. */
  readonly program?: string | undefined
  /** A program that replaces the agent of alpha. */
  readonly agent?: string | undefined
  /** The words before the command of the server, such as `["faketime", "-f", "+25h"]`. */
  readonly launcher?: ReadonlyArray<string>
  /** Arguments of `reins serve` besides the port and the data directory. */
  readonly args?: ReadonlyArray<string>
}

export interface ServerProcess extends StartingServer {
  readonly url: string
}

/** A server that may not be ready yet. */
export interface StartingServer {
  /** The URL of the server when it is ready. Fails with the server's output when it ends before. */
  readonly ready: Promise<string>
  readonly pid: number
  /** Its end, once it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  readonly kill: (signal: NodeJS.Signals) => void
  /** Everything that it has written to its standard error. */
  readonly log: () => string
}

const running = new Set<ChildProcess>()

/** Starts a server in a process of its own on a free port and waits until it is ready. Fails with the server's output when it ends before. */
export const startServer = async (options: ServerOptions): Promise<ServerProcess> => {
  const starting = spawnServer(options)
  return { ...starting, url: await starting.ready }
}

/** Makes an installation by a server that starts and stops. Most commands want one. */
export const makeInstallation = async (dataDir: string): Promise<void> => {
  const server = await startServer({ dataDir })
  server.kill("SIGTERM")
  await server.ended
}

/** Starts a server in a process of its own on a free port. */
export const spawnServer = (options: ServerOptions): StartingServer => {
  const isBroken =
    options.breakable === true ||
    [options.failpoint, options.failpointFile, options.agent].some((given) => given !== undefined)
  const main = options.program ?? (isBroken ? breakable : published)
  const port = options.args?.includes("--port") === true ? [] : ["--port", "0"]
  const words = [process.execPath, main, "serve", ...port, "--data-dir", options.dataDir, ...(options.args ?? [])]
  const [command = process.execPath, ...args] = [...(options.launcher ?? []), ...words]
  const child = spawn(command, args, {
    env: {
      ...process.env,
      REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
      REINS_LOG_LEVEL: "warning",
      REINS_PREWARM: "off",
      REINS_RATE_LIMIT: "off",
      ...(options.failpoint !== undefined && { REINS_FAILPOINT: options.failpoint }),
      ...(options.failpointFile !== undefined && { REINS_FAILPOINT_FILE: options.failpointFile }),
      ...(options.agent !== undefined && { REINS_SCRIPTED_AGENT: options.agent }),
      ...options.env
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  running.add(child)
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += String(chunk)
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once("exit", (code, signal) => {
      running.delete(child)
      resolve({ code, signal })
    })
  )
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line).url))
    void ended.then(({ code, signal }) => reject(new Error(`The server ended (${code ?? signal}):\n${errors}`)))
  })
  // A caller that does not wait for the start waits for the end instead.
  ready.catch(() => undefined)
  return { ready, pid: child.pid ?? 0, ended, kill: (signal) => void child.kill(signal), log: () => errors }
}

/** Ends the servers that a test has left running. */
export const killServers = async (): Promise<void> => {
  await Promise.all(
    [...running].map(async (child) => {
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
    })
  )
}

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of the installation, such as `reins accounts create`. */
export const reins = (
  dataDir: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Finished =>
  spawnSync(process.execPath, [published, ...args, "--data-dir", dataDir], {
    env: { ...process.env, ...env },
    encoding: "utf8",
    timeout: 120_000
  })

/** Runs `reins`, or another build of it, without blocking this process. `killAt` ends the command with SIGKILL when its standard error holds that text. */
export const reinsAside = (
  dataDir: string,
  args: ReadonlyArray<string>,
  options: { readonly env?: Readonly<Record<string, string>>; readonly killAt?: RegExp; readonly program?: string } = {}
): Promise<Finished> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [options.program ?? published, ...args, "--data-dir", dataDir], {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (chunk) => {
      stdout += String(chunk)
    })
    child.stderr.on("data", (chunk) => {
      stderr += String(chunk)
      if (options.killAt?.test(stderr) === true) child.kill("SIGKILL")
    })
    child.once("close", (status) => resolve({ status, stdout, stderr }))
  })
