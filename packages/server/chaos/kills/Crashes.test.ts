import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { packagesOfCore } from "@reins/testing/Sources"
import { assert, it } from "vitest"
import { killedAtEach } from "./KilledServer.js"
import { matrix, points } from "./matrix/Matrix.js"

killedAtEach("SQLite", points, 2)

/** The points as they stand in the sources. */
const pointsOfProduct = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => [...readFileSync(join(directory, name), "utf8").matchAll(/\bfailpoint\("([^"]+)"\)/g)])
    .map(([, name = ""]) => name)

/** The points at which a node waits while something goes wrong with it. Only one of several machines passes some of them. */
const heldOnNodes = new Set(
  [
    ...readFileSync(join(import.meta.dirname, "../../cluster/faults/Round.ts"), "utf8").matchAll(/\bhold\("([^"]+)"\)/g)
  ].map(([, name = ""]) => name)
)

it("every point of the product is in a matrix, once in the product, and has a row", () => {
  const packages = join(import.meta.dirname, "../../..")
  const found = [...packagesOfCore, "server"].flatMap((name) => pointsOfProduct(join(packages, name, "src")))
  const proven = new Set([...points, ...heldOnNodes])
  assert.deepStrictEqual([...found].sort(), [...proven].sort())
  assert.deepStrictEqual(
    points.filter((point) => matrix[point].length === 0),
    []
  )
})
