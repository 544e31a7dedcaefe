// The tools of others: generators, linters, a proxy, package managers. They are large, so they are installed for the suites that use them.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { alone } from "./alone.mjs"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const tools = join(root, "packages/testing/tools")

/** Runs a command in the root of the repository, or in another directory, and ends this process when it fails. */
export const run = (command, args, cwd = root) => {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

/** Installs what the lock file of a folder has, unless it is there. */
export const installIn = (folder, what) => {
  const stamp = join(folder, "node_modules/.stamp")
  const lock = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex")
  const isThere = () => existsSync(stamp) && readFileSync(stamp, "utf8") === lock
  if (isThere()) return
  alone(`install-${basename(folder)}`, () => {
    if (isThere()) return
    process.stderr.write(`- installing ${what} (half a minute) ...\n`)
    run("npm", ["ci", "--workspaces=false", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder)
    writeFileSync(stamp, lock)
  })
}

export const installTools = () => installIn(tools, "the tools of others")

/**
 * The compiler of TypeScript. On Linux on x64 it is a build that also knows Effect: floating effects, leaking requirements, untyped errors.
 * The lock file has that build for no other machine, so plain TypeScript checks the types there.
 */
export const compiler = () => {
  installTools()
  const { resolve: find } = createRequire(join(tools, "package.json"))
  const program = (name, path) => join(dirname(find(`${name}/package.json`)), path)
  return process.platform === "linux" && process.arch === "x64"
    ? { checksEffects: true, command: [program("@effect/tsgo-linux-x64", "artifacts/typescript/7.0.2/tsc")] }
    : { checksEffects: false, command: [process.execPath, program("@typescript/native", "bin/tsc")] }
}
