#!/usr/bin/env node
// Packs the packages, installs them outside of the repository as others do, and tries them there: `npm run test:packages [-- file ...]`.
import { installTools, run } from "./tools.mjs"

installTools()
run(process.execPath, ["scripts/test.mjs", "--mode", "packages", ...process.argv.slice(2)])
