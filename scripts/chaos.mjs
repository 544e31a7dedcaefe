#!/usr/bin/env node
// Runs the suite that breaks real servers on purpose: `npm run test:chaos [-- file ...]`. `npm run soak` runs it in full.
import { spawnSync } from "node:child_process"
import { buildWithFailpoints } from "./builds.mjs"
import { ofChaos, ofDocker, requireNeeds } from "./needs.mjs"
import { root } from "./suites.mjs"
import { installTools } from "./tools.mjs"

requireNeeds("The chaos suite", [
  ...ofChaos,
  ...(process.env["REINS_TEST_CONTAINER_ENGINE"] === "docker" ? ofDocker : [])
])
// The manifests of deploy/ are held to the schemas of Kubernetes.
installTools()
buildWithFailpoints()
const { status } = spawnSync(process.execPath, ["scripts/test.mjs", "--mode", "chaos", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit"
})
process.exit(status ?? 1)
