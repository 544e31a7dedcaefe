import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { FailpointName } from "@reins/core/Failpoint"
import { afterAll, assert, beforeAll, describe, it, onTestFailed } from "vitest"
import { Audit } from "./invariants/Audit.js"
import { matrix, onPostgres } from "./matrix/Matrix.js"
import { type DatabaseName, World } from "./World.js"

const isPoint = (name: string): name is FailpointName => name in matrix
const points = Object.keys(matrix).filter(isPoint)

const plans: ReadonlyArray<{ readonly database: DatabaseName; readonly points: ReadonlyArray<FailpointName> }> = [
  { database: "SQLite", points },
  { database: "PostgreSQL", points: onPostgres }
]

for (const plan of plans) {
  describe(`a server on ${plan.database} that is killed`, () => {
    let world: World
    let audit: Audit
    const killedAt = new Set<string>()
    beforeAll(async () => {
      world = await World.start(plan.database, { failpoints: true })
      audit = new Audit(world)
    })
    afterAll(() => world.end())

    for (const point of plan.points) {
      for (const { play, rule } of matrix[point]) {
        it(`at ${point}: ${rule}`, async () => {
          onTestFailed(() => void process.stderr.write(world.log()))
          await world.startServer()
          await play(world, async (act, passage = 1) => {
            const result = await world.crash(`${point}:${passage}`, act)
            killedAt.add(point)
            return result
          })
          await audit.holds()
        })
      }
    }

    it("was killed at every point of its plan, and all that was done at any time is as it must be", async () => {
      await new Audit(world).holds()
      assert.sameMembers([...killedAt], [...plan.points])
    })
  })
}

/** The points as they stand in the sources. */
const pointsOfProduct = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => [...readFileSync(join(directory, name), "utf8").matchAll(/\bfailpoint\("([^"]+)"\)/g)])
    .map(([, name = ""]) => name)

it("every point of the product is in the matrix, once in the product, and has a row", () => {
  const packages = join(import.meta.dirname, "../../..")
  const found = [...pointsOfProduct(join(packages, "core/src")), ...pointsOfProduct(join(packages, "server/src"))]
  assert.deepStrictEqual([...found].sort(), [...points].sort())
  assert.deepStrictEqual(
    points.filter((point) => matrix[point].length === 0),
    []
  )
})
