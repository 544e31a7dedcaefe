import { afterAll, beforeAll, describe, it } from "vitest"
import { lightAgent, seriesKills } from "../Volume.js"
import type { DatabaseName, Installation } from "./Installation.js"
import { Installations } from "./Installations.js"
import { holdsAtRest } from "./invariants/AtRest.js"
import { Audit } from "./invariants/Audit.js"
import { matrix, points } from "./matrix/Matrix.js"
import type { Row } from "./matrix/Row.js"
import { playTogether } from "./Together.js"

/** The plays that are killed at once. A server works on no more than four jobs of a kind. */
const together = 4

/** Kills the servers of an installation at each point of a series again and again, in so many installations beside each other. */
export const killedInSeries = (
  series: NonNullable<Row["series"]>,
  database: DatabaseName,
  nodes: ReadonlyArray<string>,
  count: number
) =>
  describe(`${series} on ${database}${nodes.length === 0 ? "" : ` with ${nodes.length} nodes`}`, () => {
    let installations: Installations | undefined
    const audits = new Map<Installation, Audit>()
    beforeAll(async () => {
      installations = await Installations.start(database, count, { nodes, agent: lightAgent })
      for (const installation of installations.all) audits.set(installation, new Audit(installation))
    })
    afterAll(() => installations?.end())

    for (const point of points) {
      for (const row of matrix[point].filter((each) => each.series === series)) {
        it.concurrent(
          `killed at ${point}, ${seriesKills} of ${seriesKills}: ${row.rule}`,
          ({ onTestFailed }) =>
            installations?.within(async (installation) => {
              onTestFailed(() => void process.stderr.write(installation.log()))
              const startedAt = performance.now()
              const failures: Array<unknown> = []
              for (let left = seriesKills; left > 0; left -= together) {
                await installation.servers.startOne()
                failures.push(...(await playTogether(installation, point, row, Math.min(left, together))))
                await holdsAtRest(installation)
              }
              const seconds = (performance.now() - startedAt) / 1000
              const held = `${seriesKills - failures.length} of ${seriesKills}`
              process.stdout.write(`${point}, ${row.rule}: ${held}, ${(seconds / seriesKills).toFixed(1)} s for each\n`)
              for (const failure of failures)
                process.stdout.write(`${failure instanceof Error ? failure.stack : String(failure)}\n`)
              if (failures.length > 0) throw new AggregateError(failures, `${held}:\n${failures.join("\n")}`)
              await audits.get(installation)?.holds()
            }),
          60 * 60_000
        )
      }
    }
  })
