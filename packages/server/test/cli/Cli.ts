import { execFileSync, spawn } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { NodeContext } from "@effect/platform-node"
import { Reins } from "@reins/client"
import * as Embedded from "@reins/core/Embedded"
import { PasswordCost } from "@reins/core/identity/Passwords"
import * as Sqlite from "@reins/core/store/Sqlite"
import type { ManifestInvalid, Manifests } from "@reins/machine/harness/Manifests"
import { load } from "@reins/server/Config"
import { commandLine } from "@reins/server/cli/CommandLine"
import { serverLayer } from "@reins/server/cli/operator/Serve"
import { Server } from "@reins/server/Server"
import { agentsIn, endEach } from "@reins/testing/executor/Processes"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { captured } from "@reins/testing/process/Captured"
import { type Finished, published } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { onFreshDatabase } from "@reins/testing/store/FreshDatabase"
import { Effect, Exit, Layer, ManagedRuntime } from "effect"
import { startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll } from "vitest"
import { newCaller, quiet } from "../Service.js"

/** The working directory of a command, and its environment besides the inherited one. */
export interface At {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

const environment = ({ env }: At): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:REINS_(?!EXECUTOR$)|NO_COLOR|FORCE_COLOR|CI$)/.test(name)
  )
  return { ...Object.fromEntries(inherited), TERM: "xterm-256color", ...env }
}

export interface Running {
  readonly pid: number
  /** Everything that it has written so far. */
  readonly output: () => string
  readonly finished: Promise<Finished>
}

/** Starts `reins` with pipes, as a script does. The reader of one of them may have gone. */
export const begin = (at: At, args: ReadonlyArray<string>, stdin = "", unread?: "stdout" | "stderr"): Running => {
  const child = spawn(process.execPath, [published, ...args], { cwd: at.cwd, env: environment(at) })
  if (unread !== undefined) child[unread].destroy()
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

/** Runs `reins` as a process with pipes, to its end. */
export const reinsProcess = (at: At, args: ReadonlyArray<string>, stdin = ""): Promise<Finished> =>
  begin(at, args, stdin).finished

/**
 * Runs `reins` within this process, which costs a hundredth of one of its own. It is for all that signals and the standard input have no part
 * in. It writes to no terminal.
 */
export const reinsAt = async (at: At, args: ReadonlyArray<string>): Promise<Finished> => beginWithin(at, args).finished

/** Begins `reins` within this process. The next command may begin when it has finished. */
export const beginWithin = (at: At, args: ReadonlyArray<string>): Omit<Running, "pid"> => {
  const before = { directory: process.cwd(), env: process.env }
  process.chdir(at.cwd)
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)]
  process.env = environment(at)
  process.exitCode = undefined
  const finished = Effect.runPromiseExit(Effect.provide(commandLine(args), [NodeContext.layer, quiet]))
    .then((exit) => {
      const status = Exit.isSuccess(exit) ? Number(process.exitCode ?? 0) : 1
      return { status, stdout: stdout.text(), stderr: stderr.text() }
    })
    .finally(() => {
      process.exitCode = undefined
      process.chdir(before.directory)
      process.env = before.env
      stdout.release()
      stderr.release()
    })
  return { output: () => stdout.text() + stderr.text(), finished }
}

/** `reins` on a terminal of 100 columns, which `script` of util-linux makes. */
export interface Terminal {
  /** Waits until the terminal shows this after what was waited for last. */
  readonly until: (words: RegExp) => Promise<void>
  readonly type: (keys: string) => void
  /** All that was written, with its escapes. */
  readonly raw: () => string
  readonly finished: Promise<{ readonly status: number | null; readonly text: string }>
}

export const keys = { enter: "\r", down: "\u001b[B", interrupt: "\u0003", leave: "\u0004", clear: "\u0015" } as const

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

/** Makes the database of an installation, as its first server does. */
export const makeInstallation = (dataDir: string): Promise<void> =>
  Effect.runPromise(Effect.asVoid(Effect.scoped(Layer.build(Sqlite.layer(dataDir)))))

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

let original: string | undefined

/** A project in a directory. This process makes it once, because git takes nine processes for it. */
export const makeProject = (directory: string): Project => {
  if (original === undefined) {
    const root = mkdtempSync(join(tmpdir(), ".reins-project-"))
    process.once("exit", () => rmSync(root, { recursive: true, force: true }))
    makeOriginal(root)
    original = root
  }
  cpSync(original, directory, { recursive: true })
  const [remote, folder] = [join(directory, "remote.git"), join(directory, "project")]
  const config = join(folder, ".git/config")
  writeFileSync(config, readFileSync(config, "utf8").replace(join(original, "remote.git"), remote))
  return { remote, folder }
}

const makeOriginal = (root: string): void => {
  const [remote, folder] = [join(root, "remote.git"), join(root, "project")]
  git(root, "init", "--quiet", "--template=", "--bare", "--initial-branch=main", remote)
  git(remote, "config", "receive.autogc", "false")
  git(root, "init", "--quiet", "--template=", "--initial-branch=main", folder)
  git(folder, "commit", "--quiet", "--allow-empty", "-m", "The beginning")
  git(folder, "remote", "add", "origin", remote)
  git(folder, "push", "--quiet", "-u", "origin", "main")
}

/** The settings of a world that differ from those of most tests. */
export interface WorldOptions {
  /** The agents, small ones that ask nobody unless given. */
  readonly manifests?: Layer.Layer<Manifests, ManifestInvalid>
  /** Those who may enable agents. */
  readonly agentsBy?: "owners" | "operator"
  readonly allowLocalRepositories?: boolean
  readonly cacheDir?: string
  readonly executors?: ReadonlyArray<"local" | "bubblewrap">
  /** True serves editors at `/acp`. */
  readonly acp?: boolean
}

/** A service in this process. */
const serviceIn = (directory: string, { acp = false, manifests = smallAgents, ...options }: WorldOptions) => {
  const dataDir = join(directory, "data")
  const installation = Embedded.layer(
    {
      dataDir,
      allowLocalRepositories: true,
      executors: ["local"],
      allowPrivateHosts: ["127.0.0.1"],
      prewarm: false,
      ...options
    },
    { manifests }
  )
  return Layer.unwrapEffect(
    Effect.map(load({ port: "0", rate_limit: "off", acp: acp ? "on" : "off" }, {}, directory), (config) =>
      serverLayer(config, { notice: 0 }).pipe(Layer.provideMerge(onFreshDatabase(dataDir, installation)))
    )
  ).pipe(Layer.provide([quiet, PasswordCost.layerTest]))
}

const makeWorld = async (directory: string, options: WorldOptions) => {
  const gateway = await startGateway()
  const service = ManagedRuntime.make(serviceIn(directory, options))
  const { key, url } = await service.runPromise(
    Effect.gen(function* () {
      const { url } = yield* Server
      return { ...(yield* newCaller()), url }
    })
  )
  const client = new Reins({ baseUrl: url, apiKey: key.secret })
  const workspaceId = (await client.accounts.getMe()).workspaces[0]?.id ?? ""
  const credential = { base_url: gateway.url, api_key: "gateway-key" }
  await client.connections.create({ workspace_id: workspaceId, kind: "alpha_gateway", label: "gateway", credential })
  const project = makeProject(directory)
  const env = { REINS_URL: url, REINS_API_KEY: key.secret, XDG_CONFIG_HOME: join(directory, "config"), HOME: directory }
  const close = async () => {
    await service.dispose()
    await gateway.close()
  }
  const at = { cwd: project.folder, env }
  return { directory, url, apiKey: key.secret, client, gateway, workspaceId, project, at, close }
}

/** A service whose alpha is a small agent, with a caller, and a project of theirs on the same machine: one for all tests of a file. */
export const worldForFile = (options: WorldOptions = {}): (() => Awaited<ReturnType<typeof makeWorld>>) => {
  const directory = mkdtempSync(join(tmpdir(), ".reins-cli-"))
  let made: Awaited<ReturnType<typeof makeWorld>> | undefined
  beforeAll(async () => {
    made = await makeWorld(directory, options)
  })
  afterAll(async () => {
    await made?.close()
    endEach(agentsIn(directory))
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return () => made ?? assert.fail("the world is made before the tests")
}
