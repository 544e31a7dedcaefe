import { appendFileSync } from "node:fs"
import { Effect } from "effect"

/** `name` or `name:n`: the point at which this process is killed, and at which passage of it. */
const [name, passage = "1"] = (process.env["REINS_FAILPOINT"] ?? "").split(":")
/** A file that gets a line for each point that is passed, so that a test can prove that it was reached. */
const journal = process.env["REINS_FAILPOINT_LOG"]
let passed = 0

/** Stands in the place of the product's `Failpoint.ts` in the build of this suite. */
export const failpoint = (at: string): Effect.Effect<void> =>
  Effect.sync(() => {
    if (journal !== undefined) appendFileSync(journal, `${at}\n`)
    if (at === name && ++passed === Number(passage)) process.kill(process.pid, "SIGKILL")
  })
