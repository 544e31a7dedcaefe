import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../../..")

const testsBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory())
      return entry.name === "node_modules" || entry.name.startsWith("dist") ? [] : testsBelow(path)
    return entry.name.endsWith(".test.ts") ? [path] : []
  })

it("docs/testing.md lists every file of tests", () => {
  const listed = new Set(readFileSync(join(root, "docs/testing.md"), "utf8").match(/(?<=[`/])\w+(?=`)/g))
  const unlisted = [...testsBelow("packages"), ...testsBelow("examples")].filter(
    (path) => !listed.has(basename(path, ".test.ts"))
  )
  assert.deepStrictEqual(unlisted, [])
})
