#!/usr/bin/env node
// Holds the regular expressions of the product to a time that grows with the length of the text: `node scripts/patterns.mjs`, a part of `npm run lint`.
// A pattern that is not linear stands in patterns.json with the reason for which its text is bounded or ours. One that is gone leaves that list.
// Judging all takes a minute, so that file also has the digests of those that were judged: `node scripts/patterns.mjs --write` adds the new ones.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import ts from "typescript"
import { installIn } from "./tools.mjs"

const root = join(import.meta.dirname, "..")
const listFile = join(root, "scripts/patterns.json")
const cacheFile = join(root, ".cache/patterns.json")
const folders = ["base", "machine", "core", "server", "client", "console"].map((name) => `packages/${name}/src`)

const digestOf = (pattern) => createHash("sha256").update(pattern).digest("hex").slice(0, 12)

/** The literals of a file as they stand there, and the patterns that are made while the program runs as the words that make them. */
const patternsIn = (file) => {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true)
  const found = []
  const note = (node, isLiteral) =>
    found.push({
      pattern: isLiteral ? node.text : node.getText(source).replace(/\s+/g, " "),
      isLiteral,
      at: `${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`
    })
  const visit = (node) => {
    if (ts.isRegularExpressionLiteral(node)) note(node, true)
    const isMade = ts.isNewExpression(node) || ts.isCallExpression(node)
    if (isMade && node.expression.getText(source) === "RegExp") note(node, false)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const readJson = (file, otherwise) => {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    if (error.code === "ENOENT") return otherwise
    throw error
  }
}

/** Loads the judge, which is large, so it is there only where a pattern is new. */
const loadJudge = async () => {
  const folder = join(root, "packages/testing/patterns")
  installIn(folder, "the judge of patterns")
  const { check } = await import(pathToFileURL(join(folder, "node_modules/recheck/index.js")).href)
  return check
}

let loaded
/** Undefined for a linear pattern; otherwise what is wrong. */
const judge = async (literal) => {
  loaded ??= loadJudge()
  const check = await loaded
  const end = literal.lastIndexOf("/")
  const { complexity, error, status } = await check(literal.slice(1, end), literal.slice(end + 1), {
    timeout: 30_000,
    randomSeed: 1
  })
  if (status === "safe") return undefined
  return status === "vulnerable" ? complexity.summary : `not judged (${error?.kind ?? "unknown"})`
}

const writes = process.argv.includes("--write")
const { known, linear } = readJson(listFile, { known: [], linear: [] })
const judged = new Set([...linear, ...readJson(cacheFile, [])])
const reasons = new Map(known.map(({ pattern, reason }) => [pattern, reason]))

const placesOf = new Map()
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...folders], {
  cwd: root,
  encoding: "utf8"
})
for (const file of files.split("\n").filter((name) => /\.tsx?$/.test(name)))
  for (const { at, isLiteral, pattern } of patternsIn(file)) {
    const seen = placesOf.get(pattern) ?? { isLiteral, places: [] }
    seen.places.push(at)
    placesOf.set(pattern, seen)
  }

const findings = []
for (const [pattern, { isLiteral, places }] of placesOf) {
  if (reasons.has(pattern) || judged.has(digestOf(pattern))) continue
  const wrong = isLiteral ? await judge(pattern) : "made while the program runs"
  if (wrong === undefined) judged.add(digestOf(pattern))
  else
    findings.push(
      `${places.join(", ")}: ${pattern}\n  ${wrong}. Make it linear. If its text is ours or bounded, say so in scripts/patterns.json.`
    )
}
for (const pattern of reasons.keys())
  if (!placesOf.has(pattern)) findings.push(`scripts/patterns.json: take out what is gone: ${pattern}`)

const present = [...placesOf.keys()].map(digestOf).filter((digest) => judged.has(digest))
if (writes) writeFileSync(listFile, `${JSON.stringify({ known, linear: [...new Set(present)].sort() }, null, 2)}\n`)
else {
  mkdirSync(dirname(cacheFile), { recursive: true })
  writeFileSync(cacheFile, JSON.stringify(present))
}

for (const finding of findings) process.stderr.write(`${finding}\n`)
process.stdout.write(
  `${placesOf.size} patterns, ${known.length} of them not linear for a reason that is written down\n`
)
if (findings.length > 0) process.exitCode = 1
