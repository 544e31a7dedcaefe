import { readFileSync } from "node:fs"
import { Worker } from "node:worker_threads"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"
import { assert } from "vitest"

const mebibyte = 1024 * 1024

/** The memory of a process in bytes, and the most that it ever had. */
export const memoryOf = (pid: number): { readonly now: number; readonly peak: number } => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Infinity) * 1024
  return { now: field("VmRSS"), peak: field("VmHWM") }
}

/**
 * Asks for `/healthz` again and again, each time over a new connection, from a thread that no other work of the test holds up. Says of
 * each probe how long it took, and how long it would have without waiting for a processor. The kernel tells how long the server and
 * the thread stood ready to run while others ran, and how long the host gave the processors to other machines, of which no more counts
 * than what the server did not use itself.
 */
const prober = `
const { parentPort, workerData } = require("node:worker_threads")
const { readFileSync } = require("node:fs")
const http = require("node:http")
const timesOf = (task) => readFileSync("/proc/" + task + "/schedstat", "utf8").split(" ").map((field) => Number(field) / 1e6)
const stolenMs = () => 10 * Number(readFileSync("/proc/stat", "utf8").split("\\n", 1)[0].split(/ +/)[8])
const times = () => {
  const [used, waited] = timesOf(workerData.pid + "/task/" + workerData.pid)
  return { used, starved: waited + timesOf("thread-self")[1], stolen: stolenMs() }
}
const samples = []
let isOver = false
const take = (sample) => {
  samples.push(sample)
  if (isOver || samples.length === workerData.count) parentPort.postMessage(samples)
  else setTimeout(probe, 20)
}
const probe = () => {
  const before = times()
  const at = performance.now()
  const failed = () => take({ ms: Infinity, ownMs: Infinity })
  const request = http.get(workerData.url, { agent: false }, (response) => {
    response.resume()
    response.on("end", () => {
      if (response.statusCode !== 200) return failed()
      const ms = performance.now() - at
      const after = times()
      const undisturbed = ms - (after.starved - before.starved)
      take({ ms, ownMs: Math.max(0, undisturbed - (after.stolen - before.stolen), Math.min(undisturbed, after.used - before.used)) })
    })
  })
  request.on("error", failed)
}
parentPort.on("message", () => { isOver = true })
probe()
`

interface Sample {
  readonly ms: number
  /** Without what the machine, or its host, had others do meanwhile. */
  readonly ownMs: number
}

/** So many probes, or those until it is told to stop. */
const probe = (server: ServerProcess, count: number) => {
  const worker = new Worker(prober, {
    eval: true,
    workerData: { url: `${server.url}/healthz`, count, pid: server.pid }
  })
  const samples = new Promise<ReadonlyArray<Sample>>((resolve, reject) => {
    worker.once("message", resolve)
    worker.once("error", reject)
  })
  return {
    samples: samples.finally(() => worker.terminate()),
    stop: () => {
      worker.postMessage("stop")
      return samples.finally(() => worker.terminate())
    }
  }
}

const answerMs = 250
const memoryLimit = 512 * mebibyte

/**
 * Does something to a server and holds that it stays what it was for the others: every probe of its health is answered in time, apart
 * from what the machine had others do meanwhile, and its memory is bounded.
 */
export const staysWell = async <A>(server: ServerProcess, harm: () => Promise<A>): Promise<A> => {
  const idle = slowestOf(await probe(server, 30).samples)
  const probing = probe(server, Infinity)
  const result = await harm()
  const busy = slowestOf(await probing.stop())
  const { peak } = memoryOf(server.pid)
  process.stderr.write(`idle ${told(idle)}, slowest ${told(busy)}, peak ${(peak / mebibyte).toFixed(0)} MiB\n`)
  assert.isBelow(busy.ownMs, answerMs + 2 * idle.ownMs, "milliseconds of the slowest probe")
  assert.isBelow(peak, memoryLimit, "bytes of memory at most")
  return result
}

const slowestOf = (samples: ReadonlyArray<Sample>): Sample => ({
  ms: Math.max(...samples.map(({ ms }) => ms)),
  ownMs: Math.max(...samples.map(({ ownMs }) => ownMs))
})

const told = ({ ms, ownMs }: Sample): string => `${ownMs.toFixed(0)} ms (${ms.toFixed(0)} ms with others)`
