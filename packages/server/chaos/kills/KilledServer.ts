import type { ServerPoint } from "@reins/base/base/Failpoint"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { DatabaseName, Installation } from "./Installation.js"
import { Installations } from "./Installations.js"
import { Audit } from "./invariants/Audit.js"
import { matrix } from "./matrix/Matrix.js"

/** Kills a server at each of these points, in every way of the matrix, in so many installations beside each other. */
export const killedAtEach = (database: DatabaseName, points: ReadonlyArray<ServerPoint>, count: number) =>
  describe(`a server on ${database} that is killed`, () => {
    let installations: Installations
    const audits = new Map<Installation, Audit>()
    const killedAt = new Set<string>()
    beforeAll(async () => {
      installations = await Installations.start(database, count)
      for (const installation of installations.all) audits.set(installation, new Audit(installation))
    })
    afterAll(() => installations.end())

    for (const point of points) {
      for (const { play, rule } of matrix[point]) {
        it.concurrent(`at ${point}: ${rule}`, ({ onTestFailed }) =>
          installations.within(async (installation) => {
            onTestFailed(() => void process.stderr.write(installation.log()))
            await installation.startServer()
            await play(installation, async (act, passage = 1) => {
              const result = await installation.crash(`${point}:${passage}`, act)
              killedAt.add(point)
              return result
            })
            await audits.get(installation)?.holds()
          }))
      }
    }

    it("was killed at every point of its plan, and all that was done at any time is as it must be", async () => {
      await Promise.all(installations.all.map((installation) => new Audit(installation).holds()))
      assert.sameMembers([...killedAt], [...points])
    })
  })
