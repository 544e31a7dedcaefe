#!/usr/bin/env node
// Writes figures into the table of docs/performance.md: `node bench/run.mjs --json | node bench/table.mjs [--before]`.
// Rows of subjects that were not measured stay as they are. With --before the figures go into the column of the past.
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const file = join(dirname(fileURLToPath(import.meta.url)), "../docs/performance.md")
const [begin, end] = ["<!-- figures: written by bench/table.mjs -->", "<!-- end of figures -->"]
const column = process.argv.includes("--before") ? "before" : "after"

const measured = await text(process.stdin)
if (measured === "") process.exit(1)
const { figures, machine } = JSON.parse(measured)

const document = readFileSync(file, "utf8")
const [head, rest] = document.split(begin)
const [table, tail] = rest.split(end)
const cellsOf = (line) =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim())
const rows = new Map(
  table
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map(cellsOf)
    .map(([name, goal, before, after]) => [name, { goal, before, after }])
)
for (const { goal, met, name, text } of figures) {
  const known = rows.get(name) ?? { before: "", after: "" }
  const shown = met === false && column === "after" ? `**${text}**` : text
  rows.set(name, { ...known, goal: goal ?? "", [column]: shown })
}

/** The machine of each column, with its loads, because parts are measured at different times. */
const on = new Map(
  [...table.matchAll(/^(Before|After): (.*), load ([\d.]+)(?: to ([\d.]+))? at the end\.$/gm)].map(
    ([, name, where, least, most = least]) => [name, { where, loads: [Number(least), Number(most)] }]
  )
)
const name = column === "before" ? "Before" : "After"
const where = `Node ${machine.node}, ${machine.cpus}, ${machine.memoryGb} GB`
// A whole run describes its column alone. A part of a run adds its load.
const known = rows.size > figures.length && on.get(name)?.where === where ? on.get(name).loads : []
on.set(name, { where, loads: [...known, Number(machine.load.toFixed(1))] })
const lineOf = (name, { loads, where }) => {
  const [least, most] = [Math.min(...loads), Math.max(...loads)]
  return `${name}: ${where}, load ${least === most ? least : `${least} to ${most}`} at the end.`
}

const lines = [
  begin,
  "",
  "| Figure | Goal | Before | After |",
  "|---|---|---|---|",
  ...[...rows].map(([name, { after, before, goal }]) => `| ${name} | ${goal} | ${before} | ${after} |`),
  "",
  ...["Before", "After"].filter((name) => on.has(name)).flatMap((name) => [lineOf(name, on.get(name)), ""]),
  end
]
writeFileSync(file, head + lines.join("\n") + tail)
