// Starts and measures processes. A process says that it is ready with a line of JSON. Linux only.
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

/** The directory for all files of a run. It is removed at the end. */
export const directory = mkdtempSync(join(tmpdir(), "reins-bench-"))

const running = new Set()
let processes = 0

/** Has a process end with the run, also when that is broken off. */
export const track = (child) => {
  running.add(child)
  child.once("exit", () => running.delete(child))
  return child
}

/** Starts a program of Node, behind the words of a launcher. Its first line, a JSON object with its `url`, says that it is ready. `readyMs` is the time until then. */
export const startProcess = async (args, env = {}, launcher = []) => {
  const log = join(directory, `log-${++processes}`)
  const started = performance.now()
  const [program, ...words] = [...launcher, process.execPath, ...args]
  const child = spawn(program, words, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", openSync(log, "w")]
  })
  track(child)
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

/** Ends the processes that still run, for a run that was broken off. */
export const killAll = () => {
  for (const child of running) child.kill("SIGKILL")
}
