import type { FailpointName } from "@reins/core/Failpoint"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Audit } from "./invariants/Audit.js"
import { matrix } from "./matrix/Matrix.js"
import type { DatabaseName, World } from "./World.js"
import { Worlds } from "./Worlds.js"

/** Kills a server at each of these points, in every way of the matrix, in so many worlds beside each other. */
export const killedAtEach = (database: DatabaseName, points: ReadonlyArray<FailpointName>, worldCount: number) =>
  describe(`a server on ${database} that is killed`, () => {
    let worlds: Worlds
    const audits = new Map<World, Audit>()
    const killedAt = new Set<string>()
    beforeAll(async () => {
      worlds = await Worlds.start(database, worldCount)
      for (const world of worlds.all) audits.set(world, new Audit(world))
    })
    afterAll(() => worlds.end())

    for (const point of points) {
      for (const { play, rule } of matrix[point]) {
        it.concurrent(`at ${point}: ${rule}`, ({ onTestFailed }) =>
          worlds.within(async (world) => {
            onTestFailed(() => void process.stderr.write(world.log()))
            await world.startServer()
            await play(world, async (act, passage = 1) => {
              const result = await world.crash(`${point}:${passage}`, act)
              killedAt.add(point)
              return result
            })
            await audits.get(world)?.holds()
          }))
      }
    }

    it("was killed at every point of its plan, and all that was done at any time is as it must be", async () => {
      await Promise.all(worlds.all.map((world) => new Audit(world).holds()))
      assert.sameMembers([...killedAt], [...points])
    })
  })
