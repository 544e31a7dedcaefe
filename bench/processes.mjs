// Processes that are measured: they start, say that they are ready in a line of JSON, and are asked what they use. Linux only.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, openSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const ticksPerSecond = 100

/** CPU seconds that a process has used so far. */
export const cpuSeconds = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Memory that a process holds, in MB of 1,048,576 bytes. */
export const rssMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024

/** Where a run keeps everything; it is removed at the end. */
export const directory = mkdtempSync(join(tmpdir(), "reins-bench-"))

const running = new Set()
let processes = 0

/** Starts a program of Node. It is ready with its first line, a JSON object with its `url`; `readyMs` is how long that took. */
export const startProcess = async (args, env = {}) => {
  const log = join(directory, `log-${++processes}`)
  const started = performance.now()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", openSync(log, "w")]
  })
  running.add(child)
  child.once("exit", () => running.delete(child))
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve)
    child.once("exit", (code) => reject(new Error(`${args[0]} ended with ${code}:\n${readFileSync(log, "utf8")}`)))
  })
  const readyMs = performance.now() - started
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  }
  return { url: JSON.parse(line).url, pid: child.pid, readyMs, stop }
}

/** Ends what still runs: the last resort of a run that was broken off. */
export const killAll = () => {
  for (const child of running) child.kill("SIGKILL")
}
