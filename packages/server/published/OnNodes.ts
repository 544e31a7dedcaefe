import { spawn } from "node:child_process"
import { join } from "node:path"
import type { OnNode } from "./Places.js"
import { published } from "./Published.js"

const { installed, onNodes } = published()

/** The Node that runs the tests, with what is installed for it. */
export const own: OnNode = {
  ...installed.together["the highest peers, by npm"],
  by: "npm",
  release: process.versions.node,
  node: process.execPath
}

/** Each other release with each package manager, and the Node that runs the tests. */
export const onEachNode: ReadonlyArray<OnNode> = [...onNodes, own]

export const modulesOf = ({ directory }: OnNode) => join(directory, "node_modules")

export const mainOf = (on: OnNode) => join(modulesOf(on), "@reins/server/dist/main.js")

/** Runs a program to its end. The worker of the tests must not be blocked meanwhile. */
export const run = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  new Promise<{ status: number | null; signal: string | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
    const said = { stdout: "", stderr: "" }
    child.stdout.on("data", (chunk) => {
      said.stdout += String(chunk)
    })
    child.stderr.on("data", (chunk) => {
      said.stderr += String(chunk)
    })
    child.once("close", (status, signal) => resolve({ status, signal, ...said }))
  })
