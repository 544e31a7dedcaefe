import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { target } from "@reins/cli/client/Profile"
import { attempt } from "@reins/cli/client/Remote"
import { progress } from "@reins/cli/terminal/Progress"
import { Effect, type Scope, Struct } from "effect"
import { type Config, flagOf, type Given } from "../../Config.js"
import { localUrl, runningAddress, worksOn } from "../operator/ServerAddress.js"

/** The server that is set up. */
export interface InitServer {
  readonly url: string
  /** True when it works on the data directory and the database of the configuration, so that this command may as well. */
  readonly isOwn: boolean
}

/** The server that the options of a command name. */
interface NamedServer {
  readonly url: string | undefined
  /** True when an option names the installation of this machine, which then wins over the environment and the profile. */
  readonly isOwnNamed: boolean
}

/** The server that is named, or the one of this machine; undefined when none is named and that one has to be started. */
export const runningServer = (
  config: Config,
  { isOwnNamed, url: named }: NamedServer
): Effect.Effect<InitServer | undefined, CommandFailed> =>
  Effect.gen(function* () {
    const running = yield* runningAddress(config)
    const isHeld = running !== undefined || (yield* worksOn(config))
    const own = running?.url ?? localUrl(config)
    const { isExplicit, url: given } =
      isOwnNamed && named === undefined ? { isExplicit: false, url: undefined } : target(named)
    const url = given ?? own
    // A server of an older release tells no address, and the person names both.
    const isOwn = isSameServer(url, own) || (isOwnNamed && running === undefined)
    if (yield* attempt(() => answers(url))) return { url, isOwn: isOwn && (isHeld || config.databaseUrl !== undefined) }
    // The profile may name the port that the server had before.
    if (!isExplicit && running !== undefined && url !== own && (yield* attempt(() => answers(own))))
      return { url: own, isOwn: true }
    if (isExplicit || !isSameServer(url, own)) {
      const hint = isExplicit
        ? "Start it, or run `reins init` without --url and REINS_URL for one of this machine."
        : `Your profile names it. Start it, name another one with --url, or start one of this machine with --port.`
      return yield* new CommandFailed({ message: `No server answers at ${url}. ${hint}` })
    }
    if (!isHeld) return undefined
    return yield* new CommandFailed({
      message: `A server works on ${config.dataDir} and does not answer at ${url}. Give its port with --port.`
    })
  })

/** True for two addresses of one server. The names of this machine for itself are one. */
const isSameServer = (one: string, other: string): boolean => {
  if (!URL.canParse(one) || !URL.canParse(other)) return one === other
  const [first, second] = [new URL(one), new URL(other)]
  return first.origin === second.origin || (isLoopback(first) && isLoopback(second) && first.port === second.port)
}

/** True for an address that only this machine has. */
export const isLoopback = ({ hostname }: URL): boolean => /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname)

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
