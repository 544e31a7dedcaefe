#!/usr/bin/env node
// Counts what the plan of the core bounds, and fails where a bound is passed: node scripts/house.mjs
// Folders that need each other both ways are one folder in two. A name that two files export is two things with one name. A file with many
// imports does too much, or is one of the lists beside the rooms.
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { modules, pathOf, repository } from "./sources.mjs"

const textOf = new Map(modules.map(({ path, text }) => [path, text]))
const files = [...textOf.keys()]

const statement = /^(?:import|export)\b[^"';]*?\bfrom "([^"]+)"/gm
const later = /\bimport\("([^"]+)"\)/g

// Every room exports these by convention: services their layers, and the lists of a room its name.
const shared = new Set(["make", "layer", "layerOf", "sessionRows", "workspaceRows", "accountRows"])
const ofEachRoom = /(?:^|\/)(?:Room|Contract|Operations|Errors|Events)\.ts$|^store\/schema\//
const exported = /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|type|interface|class|function\*?) (\w+)/gm

// The lists of rooms have an import for each room, and nothing else to do.
const lists = { "Rooms.ts": "Room", "Contracts.ts": "Contract", "Events.ts": "Events" }

// A room shows itself in these files, and each stands in its list.
const missing = Object.entries(lists).flatMap(([list, name]) => {
  const text = textOf.get(list)
  const isIn = (file) => [...text.matchAll(statement)].some(([, name]) => pathOf(list, name) === file)
  return files
    .filter((file) => new RegExp(`^\\w+/${name}\\.ts$`).test(file) && !isIn(file))
    .map((file) => `${file} is not in ${list}`)
})

let lines = 0
const exportersOf = new Map()
const importsOf = new Map()
const neededBy = new Map()
for (const [file, text] of textOf) {
  lines += text.split("\n").length - 1
  const named = [...text.matchAll(statement)].map(([, name]) => name)
  importsOf.set(file, named.length)
  if (!ofEachRoom.test(file))
    for (const name of new Set([...text.matchAll(exported)].map(([, name]) => name)))
      exportersOf.set(name, [...(exportersOf.get(name) ?? []), file])
  for (const name of [...named, ...[...text.matchAll(later)].map(([, name]) => name)]) {
    const path = pathOf(file, name)
    if (!textOf.has(path)) continue
    const [from, to] = [dirname(file), dirname(path)]
    if (from === to || to === "." || from.startsWith(`${to}/`) || to.startsWith(`${from}/`)) continue
    neededBy.set(from, (neededBy.get(from) ?? new Set()).add(to))
  }
}

const bothWays = [...neededBy].flatMap(([from, all]) =>
  [...all].filter((to) => from < to && neededBy.get(to)?.has(from)).map((to) => `${from} and ${to}`)
)
const twice = [...exportersOf].filter(([name, all]) => all.length > 1 && !shared.has(name))
const busy = [...importsOf].filter(([file, count]) => count > 20 && !(file in lists)).sort((a, b) => b[1] - a[1])

/** A file that is longer is two, in every part of the repository. Generated files are data, or are not kept. */
const mostLines = 400
const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: repository,
  encoding: "utf8"
})
const long = tracked
  .split("\n")
  .filter((file) => /\.(?:ts|tsx|mts|mjs|css)$/.test(file))
  .map((file) => join(repository, file))
  .filter((file) => existsSync(file))
  .map((file) => [relative(repository, file), readFileSync(file, "utf8").split("\n").length - 1])
  .filter(([, count]) => count > mostLines)

process.stdout.write(
  `${[
    `${lines} lines in ${files.length} files`,
    `${bothWays.length} pairs of folders that need each other${bothWays.map((pair) => `\n  ${pair}`).join("")}`,
    `${twice.length} names that two files export${twice.map(([name, all]) => `\n  ${name}: ${all.join(", ")}`).join("")}`,
    `${missing.length} rooms that a list lacks${missing.map((text) => `\n  ${text}`).join("")}`,
    `${busy.length} files with more than 20 imports`,
    ...busy.map(([file, count]) => `  ${file}: ${count}`),
    `${long.length} files of more than ${mostLines} lines${long.map(([file, count]) => `\n  ${file}: ${count}`).join("")}`
  ].join("\n")}\n`
)
if (bothWays.length + twice.length + missing.length + long.length > 0 || busy.length > 10) process.exitCode = 1
