import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { serverLock } from "@reins/core/store/DataDirectory"
import { Effect, type Scope, Struct } from "effect"
import { type Config, flagOf, type Given } from "../../Config.js"
import { CommandFailed } from "../CommandFailed.js"
import { target } from "../client/Profile.js"
import { attempt } from "../client/Remote.js"
import { progress } from "../terminal/Progress.js"

/** The server that is set up. */
export interface InitServer {
  readonly url: string
  /** True when it works on the data directory and the database of the configuration, so that this command may as well. */
  readonly isOwn: boolean
}

/** The server that is named, or the one of this machine; undefined when none is named and that one has to be started. */
export const runningServer = (
  config: Config,
  named: string | undefined
): Effect.Effect<InitServer | undefined, CommandFailed> =>
  Effect.gen(function* () {
    const { isExplicit, url: given } = target(named)
    const own = `http://${authorityOf(config)}`
    const url = given ?? own
    const holdsLock = yield* worksOn(config)
    if (yield* attempt(() => answers(url)))
      return { url, isOwn: url === own && (holdsLock || config.databaseUrl !== undefined) }
    if (isExplicit || url !== own) {
      const hint = isExplicit
        ? "Start it, or run `reins init` without --url and REINS_URL for one of this machine."
        : `Your profile names it. Start it, or name another one with --url; this machine's own would be ${own}.`
      return yield* new CommandFailed({ message: `No server answers at ${url}. ${hint}` })
    }
    if (!holdsLock) return undefined
    const message = `A server works on ${config.dataDir} and does not answer at ${url}. Name its address with --url.`
    return yield* new CommandFailed({ message })
  })

const authorityOf = ({ host, port }: Config): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/** True while a server of this machine works on the data directory. */
const worksOn = ({ dataDir }: Config): Effect.Effect<boolean> =>
  Effect.orElseSucceed(DatabaseFile.isHeld(serverLock(dataDir)), () => false)

/** True when a Reins server answers. Fails when something else does. */
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

/** The words of `reins serve` for the flags that were given. */
export const serveWords = (flags: { readonly [Name in keyof Given]?: string | undefined }): ReadonlyArray<string> => [
  "serve",
  ...Struct.keys(flags).flatMap((name) => {
    const value = flags[name]
    return value === undefined ? [] : [`--${flagOf(name)}`, value]
  })
]

/** Starts this program as a server and waits until it is ready. It is stopped with the scope. */
export const startedServer = (words: ReadonlyArray<string>): Effect.Effect<InitServer, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [process.argv[1] ?? "", ...words], {
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
    const url = yield* Effect.async<string, CommandFailed>((resume) => {
      createInterface({ input: child.stdout }).once("line", (line) => resume(Effect.succeed(JSON.parse(line).url)))
      child.once("close", () =>
        resume(new CommandFailed({ message: errors.trim().replace(/^reins: /, "") || "The server ended at once." }))
      )
    }).pipe(Effect.ensuring(Effect.sync(busy.clear)))
    return { url, isOwn: true }
  })
