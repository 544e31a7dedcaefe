#!/usr/bin/env node
// Runs the Effect language service over every package: floating effects, leaking requirements, untyped errors.
import { spawnSync } from "node:child_process"

const packages = ["packages/core", "packages/client", "packages/server"]
const failed = packages.filter(
  (path) =>
    spawnSync(
      process.execPath,
      [
        "node_modules/@effect/language-service/cli.js",
        "diagnostics",
        "--project",
        `${path}/tsconfig.json`,
        "--format",
        "text",
        "--severity",
        "error,warning",
        "--strict"
      ],
      { stdio: "inherit" }
    ).status !== 0
)
process.exit(failed.length === 0 ? 0 : 1)
