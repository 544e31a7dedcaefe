// Builds servers that are not published: one that the suites of faults can kill and hold at named points, and the release after this one.
import { spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { join } from "node:path"
import { root } from "./suites.mjs"

/** Ends this process when the build fails. */
const build = (kind) => {
  accessSync(join(root, "packages/server/dist/main.js"), constants.R_OK)
  const { status } = spawnSync(
    process.execPath,
    ["node_modules/tsup/dist/cli-default.js", "--config", "tsup.config.ts", "--silent"],
    { cwd: root, stdio: "inherit", env: { ...process.env, [`REINS_BUILD_${kind}`]: "1" } }
  )
  if (status !== 0) process.exit(status ?? 1)
}

export const buildWithFailpoints = () => build("FAILPOINTS")

export const buildNext = () => build("NEXT")
