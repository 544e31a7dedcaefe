#!/usr/bin/env node
// Holds `/mcp` and `reins mcp` to the conformance suite and the inspector of their protocol: `npm run test:conformance [-- file ...]`. Both are
// 160 MB and need Node 22. The first run installs them, with the integrity that their lock file tells.
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { root } from "./suites.mjs"
import { installIn, run } from "./tools.mjs"

const isOld = Number(process.versions.node.split(".")[0]) < 22
if (isOld) {
  const where = execFileSync(process.execPath, ["scripts/nodes.mjs", "22", "--where"], { cwd: root, encoding: "utf8" })
  process.env.REINS_TEST_NODE_22 = join(where.trim(), "node")
}
installIn(join(root, "packages/server/conformance"), "the conformance suite and the inspector")
run(process.execPath, ["scripts/test.mjs", "--mode", "conformance", ...process.argv.slice(2)])
