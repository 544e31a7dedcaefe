import { execFile } from "node:child_process"
import { Effect } from "effect"
import { exceeded } from "./Enforced.js"

/** The first look, and the shortest time between two. */
const leastMs = 2_000
/** A look takes at most this share of the time. */
const share = 20

/** The bytes that directories take on the disk; undefined when that cannot be told. A file that vanishes meanwhile does not count. */
const usedBy = (directories: ReadonlyArray<string>): Effect.Effect<number | undefined> =>
  Effect.async((resume) => {
    const args = ["--summarize", "--total", "--block-size=1", "--one-file-system", "--", ...directories]
    const child = execFile("du", args, { maxBuffer: 64 * 1024 }, (_, stdout) => {
      const total = /^(\d+)\ttotal$/m.exec(stdout)?.[1]
      resume(Effect.succeed(total === undefined ? undefined : Number(total)))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Looks at the directories again and again, and ends with a reason when they take more than they may. */
export const until = (directories: ReadonlyArray<string>, mostBytes: number): Effect.Effect<string> =>
  Effect.gen(function* () {
    let waitMs = leastMs
    for (;;) {
      yield* Effect.sleep(waitMs)
      const begun = performance.now()
      const used = yield* usedBy(directories)
      waitMs = Math.max(leastMs, (performance.now() - begun) * share)
      if (used !== undefined && used > mostBytes) return exceeded("files", mostBytes, used)
    }
  })
