import { it } from "vitest"
import { prove, rigForFile } from "./Cells.js"
import { takeOver } from "./TakeOver.js"
import { takeOvers } from "./Volume.js"

const rig = rigForFile()

prove(rig, "PostgreSQL restarted", { drains: "in full" })
prove(rig, "clock +-5 min", { drains: "in full" })
prove(rig, "full disk", { drains: "in full" })

for (const name of ["kill -9", "link down", "SIGTERM"] as const)
  it(`${name}: another node goes on with the session`, async () => {
    for (let round = 0; round < takeOvers; round++) {
      const { readMs, turnMs } = await takeOver(rig(), name)
      const [read, turn] = [readMs, turnMs].map((ms) => (ms / 1000).toFixed(1))
      // A figure for people: it depends on what else the machine does.
      process.stdout.write(
        `take-over after ${name}: its files are read after ${read} s, a turn has ended after ${turn} s\n`
      )
    }
  })
