// A load generator that costs little beside the server: raw sockets with one request at a time on each.
import { connect } from "node:net"
import { cpuSeconds } from "./processes.mjs"

const lengthOf = (buffer) => {
  const end = buffer.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const head = buffer.toString("latin1", 0, end)
  const length = /content-length: (\d+)/i.exec(head)
  if (length === null) throw new Error(`an answer without a length:\n${head}`)
  return { status: Number(head.slice(9, 12)), total: end + 4 + Number(length[1]) }
}

/**
 * Sends requests over some connections, for some seconds or until there were `count`; `next()` makes each request. Fails on a status
 * that is not wanted. Latencies are in milliseconds.
 */
export const load = async (url, { connections, next, seconds = Infinity, count = Infinity, status }) => {
  const { hostname, port } = new URL(url)
  const until = performance.now() + seconds * 1000
  const latencies = []
  let begun = 0
  const one = () =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      let received = Buffer.alloc(0)
      let sent = 0
      const send = () => {
        if (begun >= count || performance.now() >= until) return socket.end(resolve)
        begun++
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

/** The request as it goes over the wire. */
export const request = (method, path, headers, body = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}` +
  (body === "" ? "\r\n" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)

/** `load`, with the CPU that the server used for each request, in microseconds. */
export const measure = async (side, how) => {
  const before = cpuSeconds(side.pid)
  const result = await load(side.url, { ...how, next: side.next, status: side.status })
  return { ...result, cpuMicros: ((cpuSeconds(side.pid) - before) * 1e6) / result.count }
}

/**
 * Runs the servers in turns, so that other work on the machine meets all of them. Gives the medians of the rounds by the name of each side.
 * Thousands of requests go before, because a cold JIT makes a write look three times as expensive.
 */
export const inTurns = async (sides, { connections, rounds, seconds, warmUp }) => {
  const runs = Object.fromEntries(Object.keys(sides).map((name) => [name, []]))
  for (const side of Object.values(sides))
    await load(side.url, { connections, next: side.next, status: side.status, count: warmUp, seconds: 20 })
  for (let round = 0; round < rounds; round++)
    for (const [name, side] of Object.entries(sides)) runs[name].push(await measure(side, { connections, seconds }))
  const mediansOf = (of) =>
    Object.fromEntries(
      ["perSecond", "p50", "p99", "cpuMicros"].map((field) => [field, median(of.map((run) => run[field]))])
    )
  return Object.fromEntries(Object.entries(runs).map(([name, of]) => [name, mediansOf(of)]))
}

export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

export const median = (values) =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5
  )
