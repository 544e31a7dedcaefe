import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"
import { arithmetic, written } from "../../../../bench/scale.mjs"
import { root } from "./Blocks.js"

const page = (name: string) => readFileSync(join(root, "docs", name), "utf8")

it("the tables of several machines follow from the figures of performance; `node bench/scale.mjs` writes them", () => {
  assert.strictEqual(page("scale.md"), written(page("scale.md"), page("performance.md")))
})

it("each figure is taken from its row, and a row that is not there is missed", () => {
  const performance = page("performance.md")
  const row = /^\| PostgreSQL: POST a note, to 64 sessions: CPU \|.*\|$/m
  const doubled = performance.replace(row, "| PostgreSQL: POST a note, to 64 sessions: CPU |  |  | 2000 us |")
  const cores = (text: string) => /`commit_cores`[^|]*\|[^|]*\| ([\d.,]+) \|/.exec(text)?.[1]
  assert.strictEqual(cores(arithmetic(doubled)), "8")
  assert.notStrictEqual(cores(arithmetic(performance)), "8")
  assert.throws(() => arithmetic(performance.replace(row, "")), /has no figure/)
})
