import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { agentsIn } from "@reins/testing/executor/Processes"
import { pauseReaders } from "@reins/testing/git/PausingRemote"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn, wholeLog } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import pg from "pg"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { agent, leaseSeconds } from "../Volume.js"

const place = placeForEachTest(inHome)

const settings = { REINS_ALLOW_LOCAL_REPOSITORIES: "true", REINS_LEASE_SECONDS: String(leaseSeconds) }

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main", ...args], {
    cwd,
    encoding: "utf8"
  })

/** A bare repository on disk with one commit. */
const newRemote = () => {
  const source = join(place.directory, "source")
  const url = join(place.directory, "remote.git")
  mkdirSync(source)
  git(source, "init", "--quiet")
  writeFileSync(join(source, "given.txt"), "given\n")
  git(source, "add", ".")
  git(source, "commit", "--quiet", "-m", "Begin")
  git(place.directory, "clone", "--quiet", "--bare", source, url)
  return url
}

/** A remote repository that holds each push back until it is let through. */
const holdingRemote = () => {
  const { directory } = place
  const url = newRemote()
  const [held, through] = [join(directory, "held"), join(directory, "through")]
  const hook = join(url, "hooks", "pre-receive")
  writeFileSync(hook, `#!/bin/sh\ntouch ${held}\nwhile [ ! -e ${through} ]; do sleep 0.1; done\n`)
  chmodSync(hook, 0o755)
  return {
    url,
    isHeld: () => eventually("the push is held", () => existsSync(held)),
    letThrough: () => writeFileSync(through, ""),
    branches: () => git(url, "for-each-ref", "--format=%(refname:short)", "refs/heads/reins").trim().split("\n")
  }
}

/** A turn whose agent works on and on, and a delivery whose push is held: both run on the server when it stops. */
const begin = async (server: ServerProcess, dataDir: string, env: Readonly<Record<string, string>>) => {
  const remote = holdingRemote()
  const caller = await newCaller(server, dataDir, place.gateway, env)
  const client = caller.at(server)
  const harness = { provider_id: "alpha", model: "scripted-1" }
  const workspace_id = caller.workspaceId
  const delivering = await client.sessions.create({ workspace_id, harness, repository: { url: remote.url } })
  const write = script("Write it.", { tool: "write", path: "a.txt", content: "a\n" }, { say: "Written." })
  const written = await client.run({ session_id: delivering.id, content: write }).final()
  assert.strictEqual(written.turn.state, "succeeded", JSON.stringify(written.turn))
  const [changeset] = (await client.sessions.listChangesets({ session_id: delivering.id })).items
  const { delivery, operation } = await client.changesets.deliver({ changeset_id: changeset?.id ?? "" })
  await remote.isHeld()

  const session_id = await caller.newSession(client)
  const late = join(place.directory, "late")
  const running = await beginTurn(
    client,
    session_id,
    script(
      "Go on.",
      { tool: "bash", cmd: "echo begun" },
      { tool: "bash", cmd: `until [ -e ${late} ]; do sleep 0.1; done` },
      { say: "Too late." }
    )
  )
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

/** The agents of the session whose turn was lost. That of the other one may be kept: it has nothing to do. */
const agentsOf = (dataDir: string, { session_id }: Given) => agentsIn(join(dataDir, "sessions", session_id))

const attemptsOf = async (client: Reins, operation_id: string) => {
  const operation = await client.jobs.getOperation({ operation_id })
  return operation.jobs.flatMap(({ attempts }) => attempts.map(({ error, state }) => [state, error?.message ?? null]))
}

const silence = (lost: number, finder: number, next: string) =>
  new RegExp(
    `^Its worker \\S+/${lost} did not renew its claim for ${leaseSeconds} seconds; \\S+/${finder} took over, and nothing that the attempt still does counts\\.${next}$`
  )

/** Both attempts of what was run again, the one of what may not be, in words; and one effect. */
const assertTakenOver = async (client: Reins, given: Given, lost: number, finder: number) => {
  const turn = await client.turns.wait({ turn_id: given.running.turn_id })
  assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "outcome_unknown"])
  const delivery = await eventually("the delivery succeeds", async () => {
    const found = await client.deliveries.get({ delivery_id: given.delivery_id })
    return found.state === "succeeded" && found
  })
  const [first, second] = await attemptsOf(client, given.delivery_operation)
  assert.strictEqual(first?.[0], "abandoned")
  assert.match(first?.[1] ?? "", silence(lost, finder, " Attempt 2 of \\d+ is due at once\\."))
  assert.deepStrictEqual(second, ["succeeded", null])
  const [only, ...more] = await attemptsOf(client, given.running.operation_id)
  assert.deepStrictEqual([only?.[0], more], ["abandoned", []])
  assert.match(only?.[1] ?? "", silence(lost, finder, ""))
  assert.deepStrictEqual(
    delivery.steps.filter(({ kind }) => kind === "push").map(({ attempt, outcome }) => [attempt, outcome]),
    [[2, "succeeded"]]
  )
  assert.deepStrictEqual(given.remote.branches(), [delivery.target_ref])
}

const historyOf = async (client: Reins, session_id: string) =>
  (await wholeLog(client, session_id)).map(({ seq, type }) => `${seq} ${type}`)

/** Stops a server while a write is under way: its transaction is open, and holds the row that other writers of that session need. */
const stopInTransaction = async (server: ServerProcess, url: string, write: () => void) => {
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  const backends = async (condition: string) => {
    const { rows } = await db.query(
      `select 1 from pg_stat_activity where datname = current_database() and ${condition}`
    )
    return rows.length > 0
  }
  await db.query("begin")
  // The write waits for the row of its session before it sends the rest.
  await db.query("lock table sessions in exclusive mode")
  write()
  await eventually("the write has begun", () => backends("wait_event_type = 'Lock'"))
  server.kill("SIGSTOP")
  await db.query("rollback")
  await eventually("its transaction stays open", () => backends("state = 'idle in transaction'"))
  await db.end()
}

it("a server that was stopped beyond its claims and continued cannot write, after another on the same database has taken over", async () => {
  const { dataDir } = place
  const url = await place.newPostgresDatabase()
  const env = { REINS_DATABASE_URL: url, ...settings }
  const first = await startServer({ dataDir, agent, env })
  const given = await begin(first, dataDir, env)
  let noting: Promise<unknown> = Promise.resolve()
  await stopInTransaction(first, url, () => {
    const note = { session_id: given.session_id, content: "Mind this.", routing: "note" } as const
    noting = given.caller.at(first).messages.send(note, { timeoutMs: 500_000 })
  })
  const second = await startServer({ dataDir, agent, env })
  // The push goes on without the server that began it, and reaches the remote.
  given.remote.letThrough()
  const there = given.caller.at(second)
  await assertTakenOver(there, given, first.pid, second.pid)
  assert.deepStrictEqual(agentsOf(dataDir, given), [])
  // Nor does the session wait for it.
  await there.turns.acknowledge({ turn_id: given.running.turn_id })
  await assertAnswers(there, given.session_id)
  const history = await historyOf(there, given.session_id)

  given.letAgentEnd()
  first.kill("SIGCONT")
  await eventually(
    "both attempts have stopped",
    () => first.log().split("an attempt has lost its claim and stops").length > 2
  )
  await assertTakenOver(there, given, first.pid, second.pid)
  // The message of the time when it was stopped comes after all that came in between, once.
  await noting
  assert.deepStrictEqual(await historyOf(there, given.session_id), [
    ...history,
    `${history.length + 1} message.accepted`
  ])
  // It is a server like any other again.
  await assertAnswers(given.caller.at(first), given.session_id)
  for (const server of [first, second]) {
    server.kill("SIGTERM")
    assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
  }
})

it("the only server, stopped beyond its claims and continued, gives its attempts up and does not write with them", async () => {
  const { dataDir } = place
  const server = await startServer({ dataDir, agent, env: settings })
  const given = await begin(server, dataDir, settings)
  server.kill("SIGSTOP")
  given.remote.letThrough()
  given.letAgentEnd()
  const db = openSqlite(join(dataDir, "reins.db"), { readonly: true })
  const held = db.prepare("select id from jobs where state = 'running' and lease_expires_at > ?")
  await eventually("the claims run out", () => held.all(new Date().toISOString()).length === 0)
  db.close()
  server.kill("SIGCONT")
  const client = given.caller.at(server)
  await assertTakenOver(client, given, server.pid, server.pid)
  assert.deepStrictEqual(agentsOf(dataDir, given), [])
  const log = await wholeLog(client, given.session_id)
  assert.notInclude(log.map(({ type }) => type).join(" "), "turn.succeeded")
  // The agent's work up to then is kept as a message, and nothing of its later work.
  assert.notInclude(JSON.stringify(log.filter(({ actor }) => actor.kind === "harness")), "Too late.")
  await client.turns.acknowledge({ turn_id: given.running.turn_id })
  await assertAnswers(client, given.session_id)
})

it("a workspace that a stopped server was making is taken over, and whole when that server continues", async () => {
  const { dataDir } = place
  const env = { REINS_DATABASE_URL: await place.newPostgresDatabase(), ...settings }
  const first = await startServer({ dataDir, agent, env })
  const caller = await newCaller(first, dataDir, place.gateway, env)
  const url = newRemote()
  const remote = pauseReaders(url)
  const { id: session_id } = await caller.at(first).sessions.create({
    workspace_id: caller.workspaceId,
    harness: { provider_id: "alpha", model: "scripted-1" },
    repository: { url }
  })
  const content = script("Go on.", { tool: "bash", cmd: "cat given.txt >> taken.txt" }, { say: "Done." })
  const { operation, turn_id = "" } = await caller.at(first).messages.send({ session_id, content })
  const letThrough = await eventually("it clones", remote.reader)
  first.kill("SIGSTOP")
  const there = caller.at(await startServer({ dataDir, agent, env }))
  await eventually("it is taken over", async () => (await attemptsOf(there, operation?.id ?? "")).length > 1)
  letThrough()
  first.kill("SIGCONT")
  const turn = await there.turns.wait({ turn_id: turn_id ?? "" })
  assert.deepStrictEqual([turn.state, turn.reason], ["succeeded", null])
  const [changeset] = (await there.sessions.listChangesets({ session_id })).items
  assert.deepStrictEqual(
    changeset?.files.map(({ path, status }) => [path, status]),
    [["taken.txt", "added"]]
  )
  assert.strictEqual((await there.sessions.getFile({ session_id, path: "taken.txt" })).content, "given\n")
  const states = (await attemptsOf(there, operation?.id ?? "")).map(([state]) => state)
  assert.deepStrictEqual(states, ["abandoned", "succeeded"])
})
