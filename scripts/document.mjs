#!/usr/bin/env node
// Holds the OpenAPI document to linters, generators and a validating proxy: `npm run test:document [-- file ...]`.
import { installTools, run } from "./tools.mjs"

installTools()
run(process.execPath, ["scripts/test.mjs", "--mode", "document", ...process.argv.slice(2)])
