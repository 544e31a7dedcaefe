import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { newKey } from "@reins/testing/process/Caller"
import { inHome, type Place, placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { Schema } from "effect"
import { assert, it } from "vitest"
import { postgresRecords, type Records, sqliteRecords } from "../kills/Records.js"
import { lightAgent as agent, mostKills, occurrences, seed } from "../Volume.js"

const place = placeForEachTest(inHome)

const library = readdirSync("/usr/lib")
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

const points = ["automation.claimed", "automation.begun"] as const

/** Random numbers that a seed repeats. */
const randomsOf = (from: number) => {
  let state = from >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Member {
  readonly name: string
  readonly start: () => Promise<ServerProcess>
  readonly failpointFile: string
}

/** Servers of one installation. Each is killed at one point of a firing after the other, and started again, until it is left in peace. */
class Fleet {
  private isCalm = false
  private isOver = false
  private readonly lives: Array<Promise<void>> = []
  readonly kills = new Map<string, number>(points.map((point) => [point, 0]))

  constructor(private readonly random: (below: number) => number) {}

  keep(member: Member, first: ServerProcess): void {
    const life = this.live(member, first)
    // Its failure is told at the end.
    life.catch(() => undefined)
    this.lives.push(life)
  }

  /** Kills nothing more. */
  calm(): void {
    this.isCalm = true
  }

  async end(): Promise<void> {
    this.isOver = true
    await Promise.all(this.lives)
  }

  private async live(member: Member, first: ServerProcess): Promise<void> {
    let server = first
    for (let round = 0; !this.isOver; round++) {
      const point = points[round % points.length] ?? points[0]
      // A job that is lost waits longer each time, so not every life is short.
      if (round >= mostKills) this.isCalm = true
      if (!this.isCalm) writeFileSync(member.failpointFile, `${point}:${1 + this.random(4)}`)
      let end: { readonly signal: NodeJS.Signals | null } | undefined
      void server.ended.then((ended) => {
        end = ended
      })
      await eventually(`${member.name} to be killed`, () => {
        if (this.isCalm) rmSync(member.failpointFile, { force: true })
        return end !== undefined || this.isOver
      })
      if (end === undefined) break
      if (end.signal !== "SIGKILL") throw new Error(`${member.name} ended by itself:\n${server.log()}`)
      this.kills.set(point, (this.kills.get(point) ?? 0) + 1)
      rmSync(member.failpointFile, { force: true })
      server = await startedAgain(member)
    }
    server.kill("SIGKILL")
    await server.ended
  }
}

/** Starts a server as a supervisor does: again, when the database of a busy machine did not answer in time. */
const startedAgain = async ({ start }: Member, tries = 5): Promise<ServerProcess> => {
  for (let left = tries; left > 1; left--) {
    const server = await start().catch(() => undefined)
    if (server !== undefined) return server
  }
  return start()
}

/** A workspace begins few runs in a minute, and an account makes few workspaces in an hour. */
const eachWorkspace = 10
const eachAccount = 20

/** Automations of one time each, some in each workspace. */
const newAutomations = async (server: ServerProcess, given: Place, env: Readonly<Record<string, string>>) => {
  const workspaces: Array<{ readonly api: Reins; readonly workspace_id: string }> = []
  while (workspaces.length * eachWorkspace < occurrences) {
    const email = `owner-of-${workspaces.length}@example.com`
    const apiKey = newKey(given.dataDir, env, email)
    const api = new Reins({ baseUrl: server.url, apiKey })
    for (let made = 0; made < eachAccount && workspaces.length * eachWorkspace < occurrences; made++) {
      const { id: workspace_id } = await api.workspaces.create({ name: "Occurrences" })
      const credential = { base_url: given.gateway.url, api_key: "k" }
      await api.connections.create({ workspace_id, kind: "alpha_gateway", label: "gateway", credential })
      workspaces.push({ api, workspace_id })
    }
  }
  for (let index = 0; index < occurrences; index++) {
    const { api, workspace_id } = workspaces[index % workspaces.length] ?? assert.fail()
    await api.automations.create({
      workspace_id,
      name: "Once",
      trigger: { kind: "once", at: new Date(Date.now() + 20_000).toISOString() },
      target: { kind: "new_session", message: "Say hello.", harness: { provider_id: "alpha", model: "scripted-1" } }
    })
  }
}

const RunRecord = Schema.Struct({
  automation_id: Schema.String,
  occurrence: Schema.String,
  state: Schema.String,
  due_at: Schema.String,
  started_at: Schema.NullOr(Schema.String),
  session_id: Schema.NullOr(Schema.String)
})

const Count = Schema.Struct({ count: Schema.Union(Schema.Number, Schema.NumberFromString) })

const countOf = async (records: Records, what: string): Promise<number> =>
  Number((await records.all(Count, `select count(*) as count from ${what}`))[0]?.count)

/** Waits for every occurrence, while servers are killed, and holds what came of them. */
const hold = async (records: Records, fleet: Fleet) => {
  await eventually(
    "every time to have come",
    async () => (await countOf(records, "automations where state = 'done'")) === occurrences,
    20 * 60_000
  )
  fleet.calm()
  await eventually("every firing to have ended", async () => {
    const open = "jobs where kind = 'automation.fire' and state in ('queued', 'running', 'retry_wait')"
    return (await countOf(records, open)) === 0
  })
  await fleet.end()
  const runs = await records.all(
    RunRecord,
    "select automation_id, occurrence, state, due_at, started_at, session_id from automation_runs"
  )
  assert.lengthOf(runs, occurrences)
  assert.strictEqual(new Set(runs.map(({ automation_id }) => automation_id)).size, occurrences)
  for (const run of runs) {
    assert.isNotNull(run.session_id, run.state)
    assert.isAtLeast(Date.parse(run.started_at ?? ""), Date.parse(run.due_at))
  }
  assert.strictEqual(await countOf(records, "sessions"), occurrences)
  assert.strictEqual(await countOf(records, "turns"), occurrences)
  for (const [point, kills] of fleet.kills) assert.isAbove(kills, 0, point)
}

const timeout = 30 * 60_000

it(
  `on SQLite each of ${occurrences} times has one run through kills at every point (seed ${seed})`,
  async () => {
    const failpointFile = join(place.directory, "failpoint")
    const port = await steadyPort()
    const start = () => startServer({ dataDir: place.dataDir, agent, failpointFile, args: ["--port", String(port)] })
    const first = await start()
    await newAutomations(first, place, {})
    const fleet = new Fleet(randomsOf(seed))
    fleet.keep({ name: "the server", start, failpointFile }, first)
    await hold(sqliteRecords(place.dataDir), fleet)
  },
  timeout
)

it(
  `on PostgreSQL too, on nodes whose clocks are minutes off (seed ${seed})`,
  async () => {
    const url = await place.newPostgresDatabase()
    const shared = {
      REINS_DATABASE_URL: url,
      REINS_KEY_FILE: join(place.directory, "keyring.json"),
      REINS_SMTP_URL: "smtp://127.0.0.1:9",
      REINS_EXECUTOR: "bubblewrap",
      REINS_LEASE_SECONDS: "5"
    }
    const members: Array<{ readonly member: Member; readonly server: ServerProcess }> = []
    for (const [name, ahead] of [
      ["exact", "+0"],
      ["late", "-3m"],
      ["early", "+4m"]
    ] as const) {
      const failpointFile = join(place.directory, `failpoint-${name}`)
      const port = String(await steadyPort())
      const args = ["--node", name, "--node-address", `http://127.0.0.1:${port}`, "--port", port]
      const clock = { LD_PRELOAD: library ?? "no libfaketime", DONT_FAKE_MONOTONIC: "1", FAKETIME: ahead }
      const start = () =>
        startServer({
          dataDir: join(place.directory, name),
          failpointFile,
          args,
          // Nodes without sessions fire all the same, and the turns stay queued.
          env: { ...shared, REINS_ROLE: "api", ...(ahead !== "+0" && clock) }
        })
      members.push({ member: { name, start, failpointFile }, server: await start() })
    }
    const [first] = members
    if (first === undefined) throw new Error("no server")
    await newAutomations(first.server, place, shared)
    const fleet = new Fleet(randomsOf(seed + 1))
    for (const { member, server } of members) fleet.keep(member, server)
    await hold(postgresRecords(url), fleet)
  },
  timeout
)
