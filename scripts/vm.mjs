#!/usr/bin/env node
// Proves on kernels that this machine has not got what it cannot prove itself: `npm run test:vm [-- name ...]`. Each set of tests runs in a virtual
// machine of its own, which is made of a kernel of Debian and of the files of this machine.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { bundle } from "./vm/bundle.mjs"
import { inMachine } from "./vm/machine.mjs"
import { needsOfMachines } from "./vm/needs.mjs"
import { repository, unpacked } from "./vm/packages.mjs"
import { sets } from "./vm/sets.mjs"

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.hasOwn(sets, name))
const missing = needsOfMachines()
for (const name of unknown) process.stderr.write(`There is no set "${name}": ${Object.keys(sets).join(", ")}\n`)
for (const [name, how] of missing) process.stderr.write(`Virtual machines need ${name}: ${how}\n`)
if (unknown.length + missing.length > 0) process.exit(2)
if (!existsSync(join(repository, "packages/server/dist/main.js"))) throw new Error("Run node scripts/setup.mjs first.")

const vitest =
  "node_modules/.bin/vitest run --configLoader native --config scripts/vm/vitest.config.mjs --reporter=verbose"

/** The script of a set: what it does before, and its tests. */
const scriptOf = (set, before, run) => `
cd '${repository}'
export REINS_TEST_EMULATED=1
${before}
${run(`${vitest} tests/${set}/`)}
`

/** Runs a set, shows its words, and counts its tests. */
const count = async (
  name,
  { architecture, before = "", files, layers, memoryMb = 3072, run = (words) => words, seconds }
) => {
  process.stdout.write(`\n== ${name}\n`)
  const begun = performance.now()
  await bundle(name, files)
  let output = ""
  const code = await inMachine({
    architecture,
    kernel: unpacked({ architecture, release: "bookworm", names: [`linux-image-${architecture}`] }),
    busybox: join(unpacked({ architecture, release: "bookworm", names: ["busybox-static"] }), "bin/busybox"),
    layers: layers(),
    memoryMb,
    script: scriptOf(name, before, run),
    seconds,
    write: (chunk) => {
      output += chunk
      process.stdout.write(chunk)
    }
  })
  process.stdout.write(`== ${name}: ${Math.round((performance.now() - begun) / 1000)} s\n`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the words
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "")
  const of = (word) =>
    [...plain.matchAll(new RegExp(`^ +Tests .*?(\\d+) ${word}`, "gm"))].reduce(
      (sum, [, found]) => sum + Number(found),
      0
    )
  return { passed: of("passed"), failed: Math.max(of("failed"), code === 0 ? 0 : 1) }
}

const totals = { passed: 0, failed: 0 }
for (const name of wanted.length === 0 ? Object.keys(sets) : wanted) {
  const { failed, passed } = await count(name, sets[name])
  totals.passed += passed
  totals.failed += failed
}
process.stdout.write(`${totals.passed} passed, ${totals.failed} failed\n`)
process.exit(totals.failed === 0 && totals.passed > 0 ? 0 : 1)
