import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"

const main = join(import.meta.dirname, "../dist/main.js")
let directory: string
let gateway: Gateway
const pids = new Set<number>()

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "reins-restart-"))
  gateway = await startGateway()
})
afterEach(async () => {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL")
  pids.clear()
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const options = () => ["--data-dir", join(directory, "data")]

/** Starts the built server and waits for its ready line; its exit is told by `ended`. */
const serve = async () => {
  const child = spawn(process.execPath, [main, "serve", "--port", "0", ...options()], {
    env: { ...process.env, REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1", REINS_LOG_LEVEL: "error" },
    stdio: ["ignore", "pipe", "pipe"]
  })
  pids.add(child.pid ?? 0)
  const errors: Array<string> = []
  child.stderr.on("data", (chunk) => errors.push(String(chunk)))
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line).url))
    child.once("exit", () => reject(new Error(errors.join(""))))
  })
  return { url, ended, kill: (signal: NodeJS.Signals) => child.kill(signal) }
}

const newKey = (): string => {
  const env = { ...process.env, REINS_PASSWORD: "correct horse battery staple" }
  const run = (...args: ReadonlyArray<string>) =>
    spawnSync(process.execPath, [main, ...args, ...options()], { env, encoding: "utf8" })
  run("accounts", "create", "--email", "owner@example.com")
  return (
    /rk_[0-9A-Za-z]{49}/.exec(run("keys", "create", "--email", "owner@example.com", "--name", "test").stdout)?.[0] ?? ""
  )
}

const processesOf = (leaseId: string): ReadonlyArray<string> =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`REINS_LEASE=${leaseId}`)
    } catch {
      return false
    }
  })

it("a turn that was running when the server was killed is interrupted, leaves no process, and the session goes on", async () => {
  const first = await serve()
  const apiKey = newKey()
  const before = new Reins({ baseUrl: first.url, apiKey })
  const workspace_id = (await before.accounts.me()).workspaces[0]?.id ?? ""
  await before.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "g",
    credential: { base_url: gateway.url, api_key: "k" }
  })
  const session = await before.sessions.create({ workspace_id, harness: { provider_id: "alpha", model: "scripted-1" } })
  const steps = [{ tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" }]
  const sent = await before.messages.send({ session_id: session.id, content: `Wait. SCRIPT:${JSON.stringify(steps)}` })
  for await (const event of before.sessions.stream({ session_id: session.id })) if (event.type === "tool.started") break
  const lease = (await before.sessions.get({ session_id: session.id })).executor.lease_id ?? ""
  assert.isNotEmpty(processesOf(lease))
  first.kill("SIGKILL")
  await first.ended

  const second = await serve()
  const after = new Reins({ baseUrl: second.url, apiKey })
  const turn = await after.turns.wait({ turn_id: sent.turn_id ?? "" })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"])
  assert.isEmpty(processesOf(lease))
  assert.strictEqual((await after.sessions.get({ session_id: session.id })).activity, "attention")
  const job = await after.jobs.get({ job_id: sent.operation?.job_id ?? "" })
  assert.deepStrictEqual(
    job.attempts.map((attempt) => attempt.state),
    ["abandoned"]
  )
  await after.turns.acknowledge({ turn_id: turn.id })
  const next = await after.run({ session_id: session.id, content: 'Go on. SCRIPT:[{"say":"Here I am."}]' })
  assert.deepStrictEqual([next.turn.state, next.text.trim()], ["succeeded", "Here I am."])
  const { items } = await after.sessions.events({ session_id: session.id, limit: 1000 })
  assert.deepStrictEqual(
    items.map((event) => event.seq),
    items.map((_, index) => index + 1)
  )
  second.kill("SIGTERM")
  assert.strictEqual(await second.ended, 0)
}, 120_000)

it("a second server on the same data directory is refused in words", async () => {
  const first = await serve()
  const refused = spawnSync(process.execPath, [main, "serve", "--port", "0", ...options()], {
    encoding: "utf8",
    timeout: 20_000
  })
  assert.notStrictEqual(refused.status, 0)
  assert.include(refused.stderr, "Another Reins server uses the data directory")
  first.kill("SIGTERM")
  assert.strictEqual(await first.ended, 0)
}, 60_000)
