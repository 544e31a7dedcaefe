import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { agentsIn } from "@reins/testing/executor/Processes"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { type Finished, killServers, published, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { type Gateway, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll } from "vitest"

/** Where a command runs, with what of the environment. */
export interface At {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

const environment = ({ env }: At): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:REINS_|NO_COLOR|FORCE_COLOR|CI$)/.test(name))
  return { ...Object.fromEntries(inherited), TERM: "xterm-256color", ...env }
}

export interface Running {
  readonly pid: number
  /** What it has written so far. */
  readonly output: () => string
  readonly finished: Promise<Finished>
}

/** Starts `reins` with pipes, as a script does. */
export const begin = (at: At, args: ReadonlyArray<string>, stdin = ""): Running => {
  const child = spawn(process.execPath, [published, ...args], { cwd: at.cwd, env: environment(at) })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk)
  })
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk)
  })
  child.stdin.end(stdin)
  const finished = new Promise<Finished>((resolve) =>
    child.once("close", (status) => resolve({ status, stdout, stderr }))
  )
  return { pid: child.pid ?? 0, output: () => stdout + stderr, finished }
}

/** Runs `reins` with pipes to its end. */
export const reinsAt = (at: At, args: ReadonlyArray<string>, stdin = ""): Promise<Finished> =>
  begin(at, args, stdin).finished

/** `reins` on a terminal of 100 columns, which `script` of util-linux makes. */
export interface Terminal {
  /** Waits until the terminal shows this after what was waited for last. */
  readonly until: (words: RegExp) => Promise<void>
  readonly type: (keys: string) => void
  /** All that was written, with its escapes. */
  readonly raw: () => string
  readonly finished: Promise<{ readonly status: number | null; readonly text: string }>
}

export const keys = { enter: "\r", down: "\u001b[B", interrupt: "\u0003", clear: "\u0015" } as const

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

export const terminal = (at: At, args: ReadonlyArray<string>): Terminal => {
  const command = ["exec", process.execPath, published, ...args].map(quoted).join(" ").replace("'exec'", "exec")
  const child = spawn("script", ["-qefc", `stty cols 100 rows 40; ${command}`, "/dev/null"], {
    cwd: at.cwd,
    env: environment(at)
  })
  let raw = ""
  let seen = 0
  child.stdout.on("data", (chunk) => {
    raw += String(chunk)
  })
  const text = () => stripVTControlCharacters(raw)
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  return {
    until: (words) =>
      eventually(`${words} on the terminal`, () => {
        const found = words.exec(text().slice(seen))
        if (found === null && isOver) throw new Error(`The terminal does not show ${words}:\n${text()}`)
        if (found !== null) seen += found.index + found[0].length
        return found !== null
      }).then(() => undefined),
    type: (given) => void child.stdin.write(given),
    raw: () => raw,
    finished: ended.then((status) => ({ status, text: text() }))
  }
}

export interface Project {
  /** A bare repository, and a clone of it with one commit on `main`. */
  readonly remote: string
  readonly folder: string
}

export const git = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", folder, "-c", "user.name=T", "-c", "user.email=t@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  }).trim()

export const makeProject = (directory: string): Project => {
  const remote = join(directory, "remote.git")
  const folder = join(directory, "project")
  git(directory, "init", "--quiet", "--bare", "--initial-branch=main", remote)
  git(directory, "init", "--quiet", "--initial-branch=main", folder)
  git(folder, "commit", "--quiet", "--allow-empty", "-m", "The beginning")
  git(folder, "remote", "add", "origin", remote)
  git(folder, "push", "--quiet", "-u", "origin", "main")
  return { remote, folder }
}

const makeWorld = async (directory: string, gateway: Gateway) => {
  const dataDir = join(directory, "data")
  const settings = { REINS_CACHE_DIR: cacheWithSmallAgent(directory), REINS_ALLOW_LOCAL_REPOSITORIES: "true" }
  const server = await startServer({ dataDir, env: settings })
  const caller = await newCaller(server, dataDir, gateway, settings)
  const project = makeProject(directory)
  const env = {
    REINS_URL: server.url,
    REINS_API_KEY: caller.apiKey,
    XDG_CONFIG_HOME: join(directory, "config"),
    HOME: directory
  }
  const at: At = { cwd: project.folder, env }
  return { directory, dataDir, settings, gateway, server, caller, client: caller.at(server), project, at }
}

/** A server whose alpha is the small agent, with a caller, and a project of theirs on the same machine: one for all tests of a file. */
export const worldForFile = (): (() => Awaited<ReturnType<typeof makeWorld>>) => {
  const directory = mkdtempSync(join(tmpdir(), ".reins-cli-"))
  let made: Awaited<ReturnType<typeof makeWorld>> | undefined
  beforeAll(async () => {
    made = await makeWorld(directory, await startGateway())
  })
  afterAll(async () => {
    await killServers()
    for (const pid of agentsIn(directory)) process.kill(pid, "SIGKILL")
    await made?.gateway.close()
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return () => made ?? assert.fail("the world is made before the tests")
}
