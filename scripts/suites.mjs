// Runs suites one after the other, and adds up the counts of their last lines.
import { spawn } from "node:child_process"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")

/** Runs a suite and gives the counts of its last line. A suite without that line has failed. */
export const suite = (title, [command, ...args], env = {}) =>
  new Promise((done) => {
    process.stdout.write(`\n== ${title}\n`)
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    child.stdout.on("data", (chunk) => {
      process.stdout.write(chunk)
      output += chunk
    })
    child.on("error", () => done({ passed: 0, failed: 1 }))
    child.on("close", (code) => {
      const [, passed = "0", failed = "1"] =
        /^(\d+) passed, (\d+) failed.*$/m.exec(output.trim().split("\n").at(-1)) ?? []
      done({ passed: Number(passed), failed: Math.max(Number(failed), code === 0 ? 0 : 1) })
    })
  })

/** Ends this process with the counts of all suites in its last line. */
export const endWith = (suites) => {
  const [passed, failed] = ["passed", "failed"].map((end) => suites.reduce((sum, counts) => sum + counts[end], 0))
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 ? 0 : 1)
}
