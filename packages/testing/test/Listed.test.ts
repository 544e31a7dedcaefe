import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { packagesOfCore } from "@reins/testing/Sources"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../../..")

const testsBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory())
      return entry.name === "node_modules" || entry.name.startsWith("dist") ? [] : testsBelow(path)
    return entry.name.endsWith(".test.ts") ? [path] : []
  })

const [, rooms = "", chaos = ""] = readFileSync(join(root, "docs/testing.md"), "utf8").split(
  /^## (?:The rooms of `npm test`|The chaos suite)$/m
)

it("docs/testing.md lists the tests of every folder, in the section that has its name", () => {
  const listed = rooms.split("\n### ").flatMap((section) => {
    const folder = /^`(.+?)`/.exec(section)?.[1] ?? ""
    return [...section.matchAll(/^\| `([\w/.-]+)` \|/gm)].map(([, name]) => `${folder}/${name}.test.ts`)
  })
  const files = [...testsBelow("packages"), ...testsBelow("examples")].filter((path) => !path.includes("/chaos/"))
  assert.sameMembers(listed, files)
})

it("docs/testing.md lists every file of the chaos suite", () => {
  const listed = new Set(chaos.match(/(?<=[`/])\w+(?=`)/g))
  const unlisted = testsBelow("packages/server/chaos").filter((path) => !listed.has(basename(path, ".test.ts")))
  assert.deepStrictEqual(unlisted, [])
})

it("docs/architecture.md has the floors that the lint rule holds, and the rule has every room", () => {
  const lists = readFileSync(join(root, ".dependency-cruiser.cjs"), "utf8").match(/^ {2}\[("\w+"(?:, )?)+\]/gm) ?? []
  const held = lists.map((list) => [...list.matchAll(/\w+/g)].map(([room]) => room))
  const rows = readFileSync(join(root, "docs/architecture.md"), "utf8").matchAll(/^\| (\d*) *\| `(\w+)`:/gm)
  const told: Array<Array<string>> = []
  for (const [, floor, room = ""] of rows) {
    if (floor === "") told.at(-1)?.push(room)
    else told.push([room])
  }
  assert.deepStrictEqual(told, held)
  const rooms = packagesOfCore
    .flatMap((name) => readdirSync(join(root, "packages", name, "src"), { withFileTypes: true }))
    .filter((each) => each.isDirectory())
  assert.sameMembers(
    rooms.map(({ name }) => name),
    held.flat()
  )
})

it("docs/promises.md has every promise of docs/concepts.md in its words, with tests that there are", () => {
  const promises = [...readFileSync(join(root, "docs/concepts.md"), "utf8").matchAll(/^- \*\*(.+?)\.\*\*/gm)].map(
    ([, name]) => name
  )
  const page = readFileSync(join(root, "docs/promises.md"), "utf8")
  const rows = [...page.matchAll(/^\| (?!Promise|---)(.*?) ?\| .* \| (.*) \|$/gm)]
  assert.deepStrictEqual(
    rows.flatMap(([, name = ""]) => (name === "" ? [] : [name])),
    promises
  )
  const files = [...testsBelow("packages")]
  for (const [row, , proof = ""] of rows) {
    const tests = [...proof.matchAll(/`([\w/]+)`/g)].map(([, name]) => name)
    assert.isNotEmpty(tests, row)
    for (const name of tests)
      assert.isTrue(
        files.some((file) => file.endsWith(`/${name}.test.ts`)),
        `${name} of ${row}`
      )
  }
})
