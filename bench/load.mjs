// A load generator that costs little beside what it measures: raw sockets, one request at a time on each.
import { readFileSync } from "node:fs"
import { connect } from "node:net"

const ticksPerSecond = 100

/** CPU seconds that a process has used so far. Linux only. */
export const cpuSeconds = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

const lengthOf = (buffer) => {
  const end = buffer.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const head = buffer.toString("latin1", 0, end)
  const length = /content-length: (\d+)/i.exec(head)
  if (length === null) throw new Error(`an answer without a length:\n${head}`)
  return { status: Number(head.slice(9, 12)), total: end + 4 + Number(length[1]) }
}

/** Sends requests for some seconds over some connections; `next()` makes each request. Fails on a status that is not wanted. */
export const load = async (url, { connections, next, seconds, status }) => {
  const { hostname, port } = new URL(url)
  const until = performance.now() + seconds * 1000
  const latencies = []
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      let received = Buffer.alloc(0)
      let sent = 0
      const send = () => {
        if (performance.now() >= until) return socket.end(resolve)
        sent = performance.now()
        socket.write(next())
      }
      socket.setNoDelay(true).on("connect", send).on("error", reject)
      socket.on("data", (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
        const answer = lengthOf(received)
        if (answer === undefined || received.length < answer.total) return
        if (answer.status !== status) return reject(new Error(received.toString()))
        latencies.push(performance.now() - sent)
        received = received.subarray(answer.total)
        send()
      })
    })
  const started = performance.now()
  await Promise.all(Array.from({ length: connections }, one))
  const elapsed = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  return {
    perSecond: latencies.length / elapsed,
    count: latencies.length,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99)
  }
}

export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

export const request = (method, path, headers, body = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}` +
  (body === "" ? "\r\n" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
