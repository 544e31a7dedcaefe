#!/usr/bin/env node
// Counts how large the rooms of the core are, and what crosses their borders: node scripts/borders.mjs
// A bound that is not met is told as red, and fails once its figure has grown over the one that is written here. Write down the smaller ones.
import { dirname } from "node:path"
import ts from "typescript"
import { modules, pathOf } from "./sources.mjs"

/** The rooms of rows reach those of the machine by the bench, which stands beside them. */
const isPort = (room) => room === "bench"

const files = modules.map(({ package: home, path, text }) => ({
  path,
  home,
  folder: dirname(path),
  room: path.includes("/") ? path.split("/")[0] : ".",
  text,
  lines: linesOf(text)
}))

const homeOf = new Map(files.map(({ home, path }) => [path, home]))

function linesOf(text) {
  return text.split("\n").length - 1
}

/** The imports of a file from files of the core: the file, and its names as values and as types. */
const importsOf = ({ path, text }) =>
  ts
    .createSourceFile(path, text, ts.ScriptTarget.Latest)
    .statements.filter((each) => (ts.isImportDeclaration(each) || ts.isExportDeclaration(each)) && each.moduleSpecifier)
    .map((each) => ({ to: pathOf(path, each.moduleSpecifier.text), ...namesIn(each) }))
    .filter(({ to }) => homeOf.has(to))

const namesIn = (each) => {
  const clause = ts.isImportDeclaration(each) ? each.importClause : each
  const bindings = ts.isImportDeclaration(each) ? clause?.namedBindings : each.exportClause
  const areTypes = clause?.isTypeOnly === true
  const names = bindings?.elements?.map((one) => ({
    name: (one.propertyName ?? one.name).text,
    isType: areTypes || one.isTypeOnly
  }))
  return { names: names ?? [{ name: "*", isType: areTypes }] }
}

const arrows = files.flatMap((file) => importsOf(file).map((each) => ({ from: file, ...each })))

/** These put a room together, so they need all of it. */
const assembling = /\/(?:Room|Contract|Operations|Errors|Events|Services)\.ts$/

/** Folders of which one lies in the other, and that need each other both ways. */
const pairsOfParent = () => {
  const needs = new Set(
    arrows.filter(({ from }) => !assembling.test(from.path)).map(({ from, to }) => `${from.folder} ${dirname(to)}`)
  )
  return [...needs]
    .map((need) => need.split(" "))
    .filter(([from, to]) => from.startsWith(`${to}/`) && to !== "." && needs.has(`${to} ${from}`))
    .map(([from, to]) => `${to} and ${from}`)
}

/** The names of the machine's rooms that rooms of rows take past the bench. */
const pastTheBench = (wanted) => {
  const names = new Set()
  for (const { from, names: taken, to } of arrows) {
    if (from.home !== "core" || from.room === "." || homeOf.get(to) !== "machine" || isPort(to.split("/")[0])) continue
    for (const { isType, name } of taken) if (isType === wanted) names.add(`${to} ${name}`)
  }
  return [...names]
}

const sumsBy = (key) => {
  const sums = new Map()
  for (const file of files) {
    const sum = sums.get(file[key]) ?? { files: 0, lines: 0 }
    sums.set(file[key], { files: sum.files + 1, lines: sum.lines + file.lines })
  }
  sums.delete(".")
  return [...sums]
}

const over = (key, most) =>
  sumsBy(key)
    .filter(([, { files: count, lines }]) => lines > most.lines || count > (most.files ?? Number.POSITIVE_INFINITY))
    .sort(([, one], [, other]) => other.lines - one.lines)
    .map(([name, { files: count, lines }]) => `${name}: ${lines} lines, ${count} files`)

/** The fields of an interface down to those that hold one value, in this file. */
const leavesOf = (source, name) => {
  const found = source.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === name)
  const inside = (type) => {
    if (ts.isParenthesizedTypeNode(type)) return inside(type.type)
    if (ts.isUnionTypeNode(type)) return Math.max(...type.types.map(inside))
    if (ts.isTypeLiteralNode(type)) return total(type.members)
    const known = ts.isTypeReferenceNode(type) ? leavesOf(source, type.typeName.getText(source)) : 0
    return known === 0 ? 1 : known
  }
  const total = (members) => members.reduce((sum, { type }) => sum + inside(type), 0)
  return found === undefined ? 0 : total(found.members)
}

const rowFile = files.find(({ path }) => path === "sessions/rows/SessionRow.ts")
const row = ts.createSourceFile(rowFile.path, rowFile.text, ts.ScriptTarget.Latest, true)

const importersOf = (path) => [...new Set(arrows.filter(({ to }) => to === path).map(({ from }) => from.path))]

/** What is counted, its bound, and the figure over which it may not grow until it is met. */
const gates = [
  {
    what: "fields in the row of a session, each that holds one value",
    found: leavesOf(row, "SessionRow"),
    bound: 25,
    today: 50
  },
  { what: "pairs of a folder and one inside of it that need each other", found: pairsOfParent(), bound: 0, today: 8 },
  {
    what: "folders of more than 2,500 lines or 25 files",
    found: over("folder", { lines: 2500, files: 25 }),
    bound: 0,
    today: 14
  },
  { what: "rooms of more than 4,000 lines", found: over("room", { lines: 4000 }), bound: 0, today: 7 },
  {
    what: "files that import SessionStore",
    found: importersOf("sessions/rows/SessionStore.ts").length,
    bound: 60,
    today: 122
  },
  {
    what: "values of the machine's rooms that rooms of rows take past the bench",
    found: pastTheBench(false),
    bound: 0,
    today: 69
  },
  {
    what: "types of the machine's rooms that rooms of rows take past the bench",
    found: pastTheBench(true),
    bound: 0,
    today: 72
  }
]

for (const { bound, found, today, what } of gates) {
  const count = typeof found === "number" ? found : found.length
  const verdict = count <= bound ? "met" : count > today ? `FAILED: it was ${today}` : "red"
  process.stdout.write(`${verdict.padEnd(4)}  ${count} ${what}, bound ${bound}\n`)
  if (Array.isArray(found) && (count <= 30 || process.argv.includes("--all")))
    for (const each of found) process.stdout.write(`        ${each}\n`)
  if (count > bound && count > today) process.exitCode = 1
}
