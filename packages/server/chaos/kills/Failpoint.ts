import { appendFileSync, existsSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import type { FailpointName } from "@reins/base/base/Failpoint"
import { Effect } from "effect"

/** `name` or `name:n`: the point at which this process is killed, and at which passage of it. */
const fixed = process.env["REINS_FAILPOINT"] ?? ""
/**
 * A file that says so in its place, and that may change while the process runs. Passages count from the change. `name*` holds each that comes to the
 * point for ever, and the file `<file>.held` gets a line with this process for each.
 */
const file = process.env["REINS_FAILPOINT_FILE"]
/** A file that gets a line for each point that is passed, so that a test can prove that it was reached. */
const journal = process.env["REINS_FAILPOINT_LOG"]
/**
 * A directory with an empty file for each point that holds the first who comes to it. The file is then called `<point>.held`, until somebody removes
 * it and lets whoever is held go on.
 */
const holds = process.env["REINS_FAILPOINT_HOLDS"]
let armed = ""
let passed = 0

/** Stands in the place of the product's `Failpoint.ts` in the build of this suite. */
export const failpoint = (at: FailpointName): Effect.Effect<void> =>
  Effect.suspend(() => {
    const wanted = file === undefined ? fixed : read(file)
    if (wanted !== armed) {
      armed = wanted
      passed = 0
    }
    const [name, passage = "1"] = armed.split(":")
    if (journal !== undefined) appendFileSync(journal, `${at}\n`)
    if (armed === `${at}*`) {
      appendFileSync(`${file}.held`, `${process.pid}\n`)
      return Effect.never
    }
    if (at === name && ++passed === Number(passage)) process.kill(process.pid, "SIGKILL")
    return holds === undefined ? Effect.void : hold(join(holds, at))
  })

const hold = (file: string): Effect.Effect<void> => {
  const held = `${file}.held`
  try {
    // Of several who come at once one renames it.
    renameSync(file, held)
  } catch {
    return Effect.void
  }
  const look = Effect.suspend(() =>
    existsSync(held) ? Effect.as(Effect.sleep("10 millis"), true) : Effect.succeed(false)
  )
  return Effect.asVoid(Effect.repeat(look, { while: (isHeld) => isHeld }))
}

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}
