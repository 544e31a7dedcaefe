#!/usr/bin/env node
// Reins beside a bare server that does the same work, in turns and in one run, so that the ratio means something on a noisy machine.
//   npm run bench -- --seconds 5 --rounds 3
import { spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath, pathToFileURL } from "node:url"
import { cpuSeconds, load, quantile, request } from "./load.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "..")
const option = (name, fallback) => {
  const index = process.argv.indexOf(`--${name}`)
  return index < 0 ? fallback : Number(process.argv[index + 1])
}
const seconds = option("seconds", 4)
const rounds = option("rounds", 3)
const connections = option("connections", 32)
const directory = mkdtempSync(join(tmpdir(), "reins-bench-"))
const children = []

const start = async (args, env = {}) => {
  const started = performance.now()
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] })
  children.push(child)
  const text = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve)
    child.once("exit", (code) => reject(new Error(`${args[0]} ended with ${code}`)))
  })
  return { url: JSON.parse(text).url, pid: child.pid, readyMs: performance.now() - started }
}

const main = join(root, "packages/server/dist/main.js")
const dataDir = join(directory, "data")
const cli = (args) => {
  const run = spawnSync(process.execPath, [main, ...args, "--data-dir", dataDir], {
    encoding: "utf8",
    env: { ...process.env, REINS_PASSWORD: randomUUID() }
  })
  if (run.status !== 0) throw new Error(run.stderr)
  return run.stdout.trim()
}

const measure = async (server, round) => {
  const before = cpuSeconds(server.pid)
  const result = await load(server.url, { connections, seconds, ...round })
  return { ...result, cpuMicros: ((cpuSeconds(server.pid) - before) * 1e6) / result.count }
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Both servers in turns; the medians of the rounds and their ratio. */
const compare = async (title, reins, baseline) => {
  const runs = { reins: [], baseline: [] }
  for (let round = 0; round < rounds; round++) {
    runs.baseline.push(await measure(baseline.server, baseline))
    runs.reins.push(await measure(reins.server, reins))
  }
  const of = (name, field) => median(runs[name].map((run) => run[field]))
  const row = (name) =>
    `${of(name, "perSecond").toFixed(0).padStart(7)}/s  p50 ${of(name, "p50").toFixed(1).padStart(5)} ms  p99 ${of(name, "p99").toFixed(1).padStart(6)} ms  cpu ${of(name, "cpuMicros").toFixed(0).padStart(5)} us`
  console.log(`\n${title}`)
  console.log(`  reins     ${row("reins")}`)
  console.log(`  baseline  ${row("baseline")}`)
  console.log(
    `  ratio     throughput ${(of("reins", "perSecond") / of("baseline", "perSecond")).toFixed(2)}, CPU for one request ${(of("reins", "cpuMicros") / of("baseline", "cpuMicros")).toFixed(1)} times`
  )
}

/** From the moment a message is sent to its first event on an open stream. */
const firstEvent = async (reins, sessionId, samples) => {
  const waiting = new Map()
  const stopped = new AbortController()
  const reader = (async () => {
    for await (const event of reins.sessions.stream({ session_id: sessionId }, { signal: stopped.signal })) {
      const text = event.type === "message.accepted" ? event.payload.message.content[0]?.text : undefined
      waiting.get(text)?.(performance.now())
    }
  })().catch(() => {})
  const times = []
  for (let sample = 0; sample < samples; sample++) {
    const content = `note ${sample}`
    const seen = new Promise((resolve) => waiting.set(content, resolve))
    const sent = performance.now()
    await reins.messages.send({ session_id: sessionId, content, routing: "note" })
    times.push((await seen) - sent)
  }
  stopped.abort()
  await reader
  times.sort((a, b) => a - b)
  console.log(`\nfrom sending a message to its first event on the stream (${samples} in a row)`)
  console.log(`  p50 ${quantile(times, 0.5).toFixed(1)} ms  p99 ${quantile(times, 0.99).toFixed(1)} ms`)
}

try {
  console.log(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, SQLite with synchronous=FULL, ${connections} connections, ${rounds} rounds of ${seconds} s`
  )
  const email = "bench@localhost.test"
  cli(["accounts", "create", "--email", email])
  const apiKey = cli(["keys", "create", "--email", email, "--name", "bench"]).match(/rk_\w+/)[0]
  const baseline = await start([join(here, "baseline.mjs"), directory])
  const server = await start([main, "serve", "--port", "0", "--data-dir", dataDir], { REINS_RATE_LIMIT: "off" })
  console.log(`\nfrom start to ready: ${server.readyMs.toFixed(0)} ms (baseline ${baseline.readyMs.toFixed(0)} ms)`)

  const { Reins } = await import(pathToFileURL(join(root, "packages/client/dist/index.js")))
  const reins = new Reins({ baseUrl: server.url, apiKey })
  const {
    workspaces: [workspace]
  } = await reins.accounts.me()
  await reins.connections.create({
    workspace_id: workspace.id,
    kind: "alpha_gateway",
    label: "bench",
    credential: { base_url: "http://127.0.0.1:9/v1", api_key: "none" }
  })
  const session = await reins.sessions.create({ workspace_id: workspace.id, title: "bench" })
  const made = await fetch(`${baseline.url}/sessions`, {
    method: "POST",
    headers: { authorization: "Bearer baseline-key", "idempotency-key": randomUUID() },
    body: '{"title":"bench"}'
  })
  const { id } = await made.json()

  const key = { Authorization: `Bearer ${apiKey}` }
  const baselineKey = { Authorization: "Bearer baseline-key" }
  await compare(
    "read one session by id, with an API key",
    { server, status: 200, next: () => request("GET", `/api/sessions/${session.id}`, key) },
    { server: baseline, status: 200, next: () => request("GET", `/sessions/${id}`, baselineKey) }
  )
  const body = '{"title":"bench"}'
  await compare(
    "create a session durably: row, event and idempotency record in one commit",
    {
      server,
      status: 201,
      next: () =>
        request("POST", `/api/workspaces/${workspace.id}/sessions`, { ...key, "Idempotency-Key": randomUUID() }, body)
    },
    {
      server: baseline,
      status: 201,
      next: () => request("POST", "/sessions", { ...baselineKey, "Idempotency-Key": randomUUID() }, body)
    }
  )
  await firstEvent(reins, session.id, 200)
} finally {
  for (const child of children) child.kill("SIGTERM")
  rmSync(directory, { recursive: true, force: true })
}
