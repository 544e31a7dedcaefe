import { type ChildProcess, spawn } from "node:child_process"
import { markEntry } from "@reins/base/base/Mark"
import { hasProc } from "@reins/base/base/ProcFs"
import { Deferred, Effect, Schedule, type Scope } from "effect"
import type { SweepCommand } from "./Executor.js"
import { markLimit } from "./Marks.js"
import { familyIn, psArguments } from "./PsFamily.js"

/**
 * The guard, for `node -e`. Each line of its input is a time of the monotonic clock of the machine, in nanoseconds, and the last one counts. When it
 * has come, or the input has ended, the guard kills everything that bears the mark of the boot, again and again until nothing is new.
 */
const program = `
const { execFileSync, spawn } = require("node:child_process")
const { readdirSync, readFileSync } = require("node:fs")
const [mark, limits, ps, ...sweeps] = process.argv.slice(1)
// The whole entry is in no argument, because ps shows arguments like an environment.
const entry = "REINS_" + mark
const familyIn = ${familyIn.toString()}
const limit = new RegExp(limits, "m")
const read = (pid, file) => {
  try {
    return readFileSync("/proc/" + pid + "/" + file, "latin1")
  } catch {
    return ""
  }
}
const bears = (pid) => limit.test(read(pid, "limits")) || read(pid, "environ").split("\\0").includes(entry)
const listed = () => {
  const options = { encoding: "utf8", env: { PATH: process.env.PATH, LC_ALL: "C" }, maxBuffer: 268435456, stdio: "pipe" }
  try {
    const family = familyIn(execFileSync("ps", JSON.parse(ps), options), { entries: [entry] }, process.pid) ?? []
    return family.filter(({ alive }) => alive).map(({ pid }) => pid)
  } catch {
    return []
  }
}
const shown = () => readdirSync("/proc").filter((pid) => /^\\d+$/.test(pid)).map(Number)
const end = () => {
  const ended = new Set()
  for (let before = -1; ended.size > before; ) {
    before = ended.size
    for (const pid of ps === "" ? shown() : listed()) {
      if (ended.has(pid) || (ps === "" && !bears(pid))) continue
      ended.add(pid)
      try {
        process.kill(pid, "SIGKILL")
      } catch {}
    }
  }
  for (const words of sweeps) {
    const [command, ...args] = JSON.parse(words)
    spawn(command, args, { stdio: "ignore" }).on("error", () => undefined)
  }
}
let timer
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined)
require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    clearTimeout(timer)
    timer = setTimeout(end, Number(BigInt(line) - process.hrtime.bigint()) / 1e6)
  })
  .on("close", () => {
    clearTimeout(timer)
    end()
  })
`

/** The things that a guard ends. */
export interface Guarded {
  /** The boot that the processes bear the mark of. */
  readonly bootId: string
  /** Commands that end what a service of the machine runs for the boot. */
  readonly sweeps: ReadonlyArray<SweepCommand>
}

/** A process beside the service that ends its agents at a time, even when the service stands still or is gone. */
export interface Guard {
  /** Sets the time to so many milliseconds from now, in the place of the one before. */
  readonly until: (leftMs: number) => void
}

/** The time after which a guard that has ended is started again, in milliseconds. */
const againMs = 1000

/**
 * Keeps a guard for as long as the scope. An agent is a process of its own, which works on while the service is stopped or starved; only another
 * process can end it then. The guard also ends what a service leaves that was killed, at once.
 */
export const make = ({ bootId, sweeps }: Guarded): Effect.Effect<Guard, never, Scope.Scope> =>
  Effect.gen(function* () {
    const mark = { kind: "boot", id: bootId } as const
    const limit = `^Max realtime timeout .*\\b${markLimit(mark)}\\b`
    const args = [
      "--max-old-space-size=16",
      "-e",
      program,
      markEntry(mark).replace(/^REINS_/, ""),
      limit,
      hasProc() ? "" : JSON.stringify(psArguments(process.platform)),
      ...sweeps.map(({ words }) => JSON.stringify(words))
    ]
    let child: ChildProcess | undefined
    let untilNs: bigint | undefined
    const tell = () => {
      if (untilNs !== undefined) child?.stdin?.write(`${untilNs}\n`)
    }
    const one = Effect.gen(function* () {
      const over = yield* Deferred.make<void>()
      yield* Effect.acquireUseRelease(
        Effect.sync(() => {
          // In a group of its own, so that what ends the service by its group leaves it to do its work.
          const started = spawn(process.execPath, args, {
            env: Object.assign(
              { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
              ...sweeps.map(({ environment }) => environment)
            ),
            stdio: ["pipe", "ignore", "ignore"],
            detached: true
          })
          for (const event of ["error", "exit"]) started.once(event, () => Deferred.unsafeDone(over, Effect.void))
          started.stdin.on("error", () => undefined)
          child = started
          tell()
          return started
        }),
        () => Deferred.await(over),
        (started) =>
          Effect.sync(() => {
            child = undefined
            started.stdin.end()
          })
      )
      yield* Effect.logWarning("the guard of the agents has ended, and is started again")
    })
    // It is no loop of `store/Loop.ts`, because this room needs no database.
    yield* Effect.forkScoped(Effect.repeat(one, Schedule.spaced(againMs)))
    return {
      until: (leftMs) => {
        untilNs = process.hrtime.bigint() + BigInt(Math.round(leftMs * 1e6))
        tell()
      }
    }
  })
