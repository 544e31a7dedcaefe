import { execFile, spawn } from "node:child_process"
import { promisify } from "node:util"
import { cutText } from "@reins/base/base/CutText"
import { Data, Effect } from "effect"
import * as Supervision from "../Supervision.js"
import { givenTo, sandboxArguments } from "./Arguments.js"
import { isolationProofs } from "./Proofs.js"

/** The sandbox does not work on this machine. The message says why, and what can be done. */
export class BubblewrapUnavailable extends Data.TaggedError("BubblewrapUnavailable")<{ readonly message: string }> {}

/** The advice for the words with which bubblewrap fails. */
const advice: ReadonlyArray<readonly [RegExp, string]> = [
  [/ENOENT/, "it is not installed; on Debian and Ubuntu: apt-get install bubblewrap"],
  [/Unknown option/, "its version is too old; it has to be 0.8 or newer"],
  [
    /uid map|new namespace|CLONE_NEWUSER|Operation not permitted|Permission denied/i,
    "this machine allows no user namespaces to the service's user; in a container that is its seccomp profile, on Ubuntu 24.04 an AppArmor " +
      "profile for bwrap is needed, and elsewhere see the sysctl user.max_user_namespaces"
  ]
]

const unavailable = (said: string): BubblewrapUnavailable => {
  const known = advice.find(([words]) => words.test(said))?.[1]
  const quoted = cutText(said.trim().split("\n")[0] ?? "", 200)
  return new BubblewrapUnavailable({
    message: `bubblewrap does not work here: ${known ?? quoted}${known === undefined || known.startsWith("it is not") ? "" : ` (${quoted})`}.`
  })
}

/** A machine that is busy or emulated takes seconds, and a probe that is broken off is taken for one that fails. */
const probeMs = 60_000

/** The output of a program in a sandbox like that of agents. Fails with what bubblewrap says when it does not start. */
const look = (filter: Uint8Array, launcher: ReadonlyArray<string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const nothing = { readable: [], writable: [], directory: "/", socket: undefined, temporaryBytes: 4096 }
    const given = givenTo(filter)
    const seeing = ["cat", "/proc/self/status", "/proc/net/dev"]
    const [program = "", ...args] = [...launcher, "bwrap", ...sandboxArguments(nothing), ...seeing]
    const child = spawn(program, args, {
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      stdio: ["ignore", "pipe", "pipe", ...given.map(() => "pipe" as const), "pipe"],
      // The timer of `timeout` keeps the process for a minute where there is no such program.
      signal: AbortSignal.timeout(probeMs),
      killSignal: "SIGKILL"
    })
    let seen = ""
    let said = ""
    child.stdout?.on("data", (chunk) => {
      seen += String(chunk)
    })
    child.stderr?.on("data", (chunk) => {
      said += String(chunk)
    })
    for (const [index, bytes] of given.entries()) Supervision.give(child.stdio[3 + index], bytes)
    child.once("error", reject)
    // Its words may come after its exit, and something that it leaves may keep its pipes open.
    child.once("close", (code) => (code === 0 ? resolve(seen) : reject(new Error(said))))
    child.once("exit", (code) => code !== 0 && setTimeout(() => reject(new Error(said)), 100))
  })

/** Starts a program in a sandbox by the words of a launcher, and looks at what it sees. */
export const probeSandbox = (
  filter: Uint8Array,
  launcher: ReadonlyArray<string>
): Effect.Effect<void, BubblewrapUnavailable> =>
  Effect.tryPromise({
    try: async () => {
      const seen = await look(filter, launcher)
      const missing = isolationProofs(seen)
      if (missing.length > 0) throw new Error(`it starts, but it lacks ${missing.join(", ")}`)
    },
    catch: (error) => unavailable(error instanceof Error ? error.message : String(error))
  })

export const version = Effect.promise(() =>
  promisify(execFile)("bwrap", ["--version"]).then(
    ({ stdout }) => stdout.trim().replace("bubblewrap ", ""),
    () => null
  )
)
