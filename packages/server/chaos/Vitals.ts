import { readFileSync } from "node:fs"
import { Worker } from "node:worker_threads"
import { assert } from "vitest"
import type { ServerProcess } from "./ServerProcess.js"

const mebibyte = 1024 * 1024

/** The memory of a process in bytes, and the most that it ever had. */
export const memoryOf = (pid: number): { readonly now: number; readonly peak: number } => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Infinity) * 1024
  return { now: field("VmRSS"), peak: field("VmHWM") }
}

/** Asks for `/healthz` again and again, each time over a new connection, from a thread that no other work of the test holds up. */
const prober = `
const { parentPort, workerData } = require("node:worker_threads")
const http = require("node:http")
const samples = []
let isOver = false
const take = (ms) => {
  samples.push(ms)
  if (isOver || samples.length === workerData.count) parentPort.postMessage(samples)
  else setTimeout(probe, 20)
}
const probe = () => {
  const at = performance.now()
  const request = http.get(workerData.url, { agent: false }, (response) => {
    response.resume()
    response.on("end", () => take(response.statusCode === 200 ? performance.now() - at : Infinity))
  })
  request.on("error", () => take(Infinity))
}
parentPort.on("message", () => { isOver = true })
probe()
`

/** How long each of so many probes took in milliseconds, or of those until it is told to stop. */
const probe = (server: ServerProcess, count: number) => {
  const worker = new Worker(prober, { eval: true, workerData: { url: `${server.url}/healthz`, count } })
  const samples = new Promise<ReadonlyArray<number>>((resolve, reject) => {
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
 * Does something to a server and holds that it stays what it was for the others: every probe of its health is answered in time, as
 * slow as the machine is today, and its memory is bounded.
 */
export const staysWell = async <A>(server: ServerProcess, harm: () => Promise<A>): Promise<A> => {
  const idle = Math.max(...(await probe(server, 30).samples))
  const probing = probe(server, Infinity)
  const result = await harm()
  const slowest = Math.max(...(await probing.stop()))
  const { peak } = memoryOf(server.pid)
  process.stderr.write(
    `idle ${idle.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms, peak ${(peak / mebibyte).toFixed(0)} MiB\n`
  )
  assert.isBelow(slowest, answerMs + 10 * idle, "milliseconds of the slowest probe")
  assert.isBelow(peak, memoryLimit, "bytes of memory at most")
  return result
}
