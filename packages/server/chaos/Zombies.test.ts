import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import SqliteDatabase from "better-sqlite3"
import pg from "pg"
import { afterEach, assert, beforeEach, inject, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"
import { killServers, type ServerProcess, startServer } from "./ServerProcess.js"
import { agentsIn, endless, eventually, newCaller, script, untilEvent } from "./Sessions.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
  }
}

let place: string
let gateway: Gateway
const database = `reins_${randomBytes(8).toString("hex")}`

const query = async (url: string, statement: string): Promise<ReadonlyArray<object>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

beforeEach(async () => {
  place = mkdtempSync(join(homedir(), ".reins-chaos-"))
  gateway = await startGateway()
  await query(inject("postgresUrl"), `create database ${database}`)
})
afterEach(async () => {
  killServers()
  await gateway.close()
  await query(inject("postgresUrl"), `drop database ${database} with (force)`)
  rmSync(place, { recursive: true, force: true, maxRetries: 5 })
})

/** A remote repository on disk that holds each push back until it is let through. */
const holdingRemote = () => {
  const git = (cwd: string, ...args: ReadonlyArray<string>) =>
    execFileSync(
      "git",
      ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main", ...args],
      {
        cwd,
        encoding: "utf8"
      }
    )
  const source = join(place, "source")
  const url = join(place, "remote.git")
  mkdirSync(source)
  git(source, "init", "--quiet")
  git(source, "commit", "--quiet", "--allow-empty", "-m", "Begin")
  git(place, "clone", "--quiet", "--bare", source, url)
  const [held, through] = [join(place, "held"), join(place, "through")]
  const hook = join(url, "hooks", "pre-receive")
  writeFileSync(hook, `#!/bin/sh\ntouch ${held}\nwhile [ ! -e ${through} ]; do sleep 0.1; done\n`)
  chmodSync(hook, 0o755)
  return {
    url,
    isHeld: () => eventually(() => (existsSync(held) ? true : undefined)),
    letThrough: () => writeFileSync(through, ""),
    branches: () => git(url, "for-each-ref", "--format=%(refname:short)", "refs/heads/reins").trim().split("\n")
  }
}

/** A turn whose agent works on and on, and a delivery whose push is held: both run on the server when it stops. */
const begin = async (server: ServerProcess, dataDir: string, env: Readonly<Record<string, string>>) => {
  const remote = holdingRemote()
  const caller = await newCaller(server, dataDir, gateway, env)
  const client = caller.at(server)
  const harness = { provider_id: "alpha", model: "scripted-1" }
  const workspace_id = caller.workspaceId
  const delivering = await client.sessions.create({ workspace_id, harness, repository: { url: remote.url } })
  const write = script("Write it.", { tool: "write", path: "a.txt", content: "a\n" }, { say: "Written." })
  const written = await client.run({ session_id: delivering.id, content: write })
  assert.strictEqual(written.turn.state, "succeeded", JSON.stringify(written.turn))
  const [changeset] = (await client.sessions.listChangesets({ session_id: delivering.id })).items
  const { delivery, operation } = await client.changesets.deliver({ changeset_id: changeset?.id ?? "" })
  await remote.isHeld()

  const { id: session_id } = await client.sessions.create({ workspace_id, harness })
  const late = join(place, "late")
  const running = await client.messages.send({
    session_id,
    content: script(
      "Go on.",
      { tool: "bash", cmd: "echo begun" },
      { tool: "bash", cmd: `until [ -e ${late} ]; do sleep 0.1; done` },
      {
        say: "Too late."
      }
    )
  })
  await untilEvent(client, session_id, running.turn_id ?? "", "tool.completed")
  return {
    caller,
    remote,
    session_id,
    running,
    delivery_id: delivery.id,
    delivery_operation: operation.id,
    /** Lets the agent come to its end. */
    letAgentEnd: () => writeFileSync(late, "")
  }
}

type Given = Awaited<ReturnType<typeof begin>>

const attemptsOf = async (client: Reins, operation_id: string) => {
  const operation = await client.jobs.operation({ operation_id })
  return operation.jobs.flatMap(({ attempts }) => attempts.map(({ error, state }) => [state, error?.message ?? null]))
}

const silence = (lost: number, finder: number, next: string) =>
  new RegExp(
    `^Its worker \\S+/${lost} did not renew its claim for 30 seconds; \\S+/${finder} took over, and nothing that the attempt still does counts\\.${next}$`
  )

/** Both attempts of what was run again, the one of what may not be, in words; and one effect. */
const assertTakenOver = async (client: Reins, given: Given, lost: number, finder: number) => {
  const turn = await client.turns.wait({ turn_id: given.running.turn_id ?? "" })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "outcome_unknown"])
  const delivery = await eventually(async () => {
    const found = await client.deliveries.get({ delivery_id: given.delivery_id })
    return found.state === "succeeded" ? found : undefined
  })
  const [first, second] = await attemptsOf(client, given.delivery_operation)
  assert.strictEqual(first?.[0], "abandoned")
  assert.match(first?.[1] ?? "", silence(lost, finder, " Attempt 2 of \\d+ is due at once\\."))
  assert.deepStrictEqual(second, ["succeeded", null])
  const [only, ...more] = await attemptsOf(client, given.running.operation?.id ?? "")
  assert.deepStrictEqual([only?.[0], more], ["abandoned", []])
  assert.match(only?.[1] ?? "", silence(lost, finder, ""))
  assert.deepStrictEqual(
    delivery.steps.filter(({ kind }) => kind === "push").map(({ attempt, outcome }) => [attempt, outcome]),
    [[2, "succeeded"]]
  )
  assert.deepStrictEqual(given.remote.branches(), [delivery.target_ref])
}

const historyOf = async (client: Reins, session_id: string) =>
  (await client.sessions.events({ session_id, limit: 1000 })).items.map(({ seq, type }) => `${seq} ${type}`)

it("a server that was stopped beyond its claims and continued cannot write, after another on the same database has taken over", async () => {
  const dataDir = join(place, "data")
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${database}`
  const env = { REINS_DATABASE_URL: url.href, REINS_ALLOW_LOCAL_REPOSITORIES: "true" }
  const first = await startServer({ dataDir, env })
  const given = await begin(first, dataDir, env)
  first.kill("SIGSTOP")
  const second = await startServer({ dataDir, env })
  // The push goes on without the server that began it, and reaches the remote.
  given.remote.letThrough()
  const there = given.caller.at(second)
  await assertTakenOver(there, given, first.pid, second.pid)
  assert.deepStrictEqual(agentsIn(dataDir), [])
  const history = await historyOf(there, given.session_id)

  given.letAgentEnd()
  first.kill("SIGCONT")
  await eventually(() => (first.log().split("an attempt has lost its claim and stops").length > 2 ? true : undefined))
  await assertTakenOver(there, given, first.pid, second.pid)
  assert.deepStrictEqual(await historyOf(there, given.session_id), history)
  // It is a server like any other again.
  const here = given.caller.at(first)
  await here.turns.acknowledge({ turn_id: given.running.turn_id ?? "" })
  const next = await here.run({ session_id: given.session_id, content: script("Again.", { say: "Here I am." }) })
  assert.deepStrictEqual([next.turn.state, next.text.trim()], ["succeeded", "Here I am."])
  for (const server of [first, second]) {
    server.kill("SIGTERM")
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
  }
})

it("the only server, stopped beyond its claims and continued, gives its attempts up and does not write with them", async () => {
  const dataDir = join(place, "data")
  const env = { REINS_ALLOW_LOCAL_REPOSITORIES: "true" }
  const server = await startServer({ dataDir, env })
  const given = await begin(server, dataDir, env)
  server.kill("SIGSTOP")
  given.remote.letThrough()
  given.letAgentEnd()
  const db = new SqliteDatabase(join(dataDir, "reins.db"), { readonly: true })
  const held = db.prepare("select id from jobs where state = 'running' and lease_expires_at > ?")
  await eventually(() => (held.all(new Date().toISOString()).length === 0 ? true : undefined))
  db.close()
  server.kill("SIGCONT")
  const client = given.caller.at(server)
  await assertTakenOver(client, given, server.pid, server.pid)
  assert.deepStrictEqual(agentsIn(dataDir), [])
  const types = (await historyOf(client, given.session_id)).join("\n")
  assert.notMatch(types, /message\.completed|turn\.succeeded/)
  await client.turns.acknowledge({ turn_id: given.running.turn_id ?? "" })
  const next = await client.run({
    session_id: given.session_id,
    content: endless().replace(/\{"hang":true\}/, '{"say":"Here I am."}')
  })
  assert.deepStrictEqual([next.turn.state, next.text.trim()], ["succeeded", "Here I am."])
})
