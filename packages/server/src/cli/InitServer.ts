import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createInterface } from "node:readline"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { serverLock } from "@reins/core/store/DataDirectory"
import { Effect, Option, type Scope } from "effect"
import type { Config, Given } from "../Config.js"
import { CommandFailed } from "./Accounts.js"
import { target } from "./Profile.js"
import { ask, isInteractive, progress } from "./Prompts.js"
import { attempt } from "./Remote.js"

/** The server that is set up. */
export interface InitServer {
  readonly url: string
  /** Whether it works on the data directory and the database of the configuration, so that this command may as well. */
  readonly isOwn: boolean
  readonly wasStarted: boolean
  /** The command that starts it as it was started here. */
  readonly serve: string
}

type Flags = { readonly [Name in keyof Given]?: Option.Option<string> }

/** The server that is named, or the one of this machine, which is started for as long as the scope lives if it does not run. */
export const readyServer = (
  config: Config,
  named: string | undefined,
  flags: Flags
): Effect.Effect<InitServer, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { isExplicit, url: given } = target(named)
    const own = `http://${authorityOf(config)}`
    const url = given ?? own
    const args = Object.entries(flags).flatMap(([name, value]) =>
      Option.isSome(value) ? [`--${name.replaceAll("_", "-")}`, value.value] : []
    )
    const serve = ["reins serve", ...args].join(" ")
    const holdsLock = yield* worksOn(config)
    if (yield* attempt(() => answers(url)))
      return { url, isOwn: url === own && (holdsLock || config.databaseUrl !== undefined), wasStarted: false, serve }
    if (isExplicit || url !== own) {
      const hint = "Start it, or run `reins init` without --url and REINS_URL for one of this machine."
      return yield* new CommandFailed({ message: `No server answers at ${url}. ${hint}` })
    }
    if (holdsLock) {
      const message = `A server works on ${config.dataDir} and does not answer at ${url}. Name its address with --url.`
      return yield* new CommandFailed({ message })
    }
    yield* attempt(() => agreeTo(config))
    return { url: yield* started(args), isOwn: true, wasStarted: true, serve }
  })

const authorityOf = ({ host, port }: Config): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/** Whether a server of this machine works on the data directory. */
const worksOn = ({ dataDir }: Config): Effect.Effect<boolean> =>
  Effect.orElseSucceed(DatabaseFile.isHeld(serverLock(dataDir)), () => false)

/** Whether a Reins server answers. Fails when something else does. */
const answers = async (url: string): Promise<boolean> => {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CommandFailed({ message: `"${url}" is not an http or https URL, as http://127.0.0.1:7117 is one.` })
  const answer = await fetch(`${url}/healthz`, { redirect: "manual", signal: AbortSignal.timeout(10_000) }).catch(
    () => undefined
  )
  if (answer === undefined) return false
  const body: unknown = await answer.json().catch(() => undefined)
  if (answer.ok && typeof body === "object" && body !== null && "status" in body) return true
  throw new CommandFailed({
    message: `What answers at ${url} is not a Reins server. Name another address with --url, or another port with --port.`
  })
}

const agreeTo = async ({ databaseUrl, dataDir }: Config): Promise<void> => {
  if (existsSync(dataDir) || databaseUrl !== undefined || !isInteractive()) return
  if (await ask.confirmation(`Make an installation in ${dataDir}?`, true)) return
  throw new CommandFailed({
    message: "Nothing was made. Name a server with --url, or another directory with --data-dir."
  })
}

/** Starts this program as a server and waits until it is ready; it is stopped with the scope. */
const started = (args: ReadonlyArray<string>): Effect.Effect<string, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [process.argv[1] ?? "", "serve", ...args], {
          env: { ...process.env, REINS_LOG_LEVEL: "error" },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (child) =>
        Effect.async<void>((resume) => {
          if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGTERM")
        })
    )
    const busy = progress()
    busy.say("Starting the server")
    let errors = ""
    child.stderr.on("data", (chunk) => {
      errors += String(chunk)
    })
    return yield* Effect.async<string, CommandFailed>((resume) => {
      createInterface({ input: child.stdout }).once("line", (line) => resume(Effect.succeed(JSON.parse(line).url)))
      child.once("close", () =>
        resume(new CommandFailed({ message: errors.trim().replace(/^reins: /, "") || "The server ended at once." }))
      )
    }).pipe(Effect.ensuring(Effect.sync(busy.clear)))
  })
