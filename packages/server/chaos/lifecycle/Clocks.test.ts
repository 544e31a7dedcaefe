import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { agentsIn } from "@reins/testing/executor/Processes"
import { newCaller, password } from "@reins/testing/process/Caller"
import { tokenFor } from "@reins/testing/process/Outbox"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { killServers, type ServerProcess, startServer } from "@reins/testing/process/ServerProcess"
import { allPages, assertAnswers, assertWorkerLost, beginTurn, wholeLog } from "@reins/testing/process/Turns"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterEach, assert, it } from "vitest"
import { agent } from "../Volume.js"

const library = readdirSync("/usr/lib")
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

const place = placeForEachTest()
const pids: Array<number> = []

/** A killed process leaves the shared memory of the library behind. */
afterEach(async () => {
  await killServers()
  for (const pid of pids.splice(0))
    for (const name of ["faketime_shm", "sem.faketime_sem"]) rmSync(`/dev/shm/${name}_${pid}`, { force: true })
})

/** The names of login cookies hold the address, so that a login outlives a server only at the same one. */
const port = steadyPort()

const serverWith = async (clock: Readonly<Record<string, string>>) => {
  const env = { LD_PRELOAD: library ?? "no libfaketime", DONT_FAKE_MONOTONIC: "1", ...clock }
  const server = await startServer({ dataDir: place.dataDir, agent, env, args: ["--port", String(await port)] })
  pids.push(server.pid)
  return server
}

/** A server whose clock is ahead, as in `+25h`; its timers go on as they are. */
const serverAt = (ahead: string) => serverWith({ FAKETIME: ahead })

const stop = async (server: ServerProcess) => {
  server.kill("SIGKILL")
  await server.ended
}

let keys = 0
const post = (
  server: ServerProcess,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": `clock-${keys++}`, ...headers },
    body: JSON.stringify(body)
  })

const meOf = async (server: ServerProcess, headers: Readonly<Record<string, string>>) =>
  (await fetch(`${server.url}/api/me`, { headers })).status

const login = async (server: ServerProcess, email: string) => {
  const answer = await post(server, "/api/auth/login", { email, password })
  assert.strictEqual(answer.status, 200)
  return { cookie: (answer.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "" }
}

it("tokens, keys, logins and stored answers end exactly when it is said, and not before", async () => {
  const owner = "owner@example.com"
  const now = await serverAt("+0")
  const { apiKey, workspaceId } = await newCaller(now, place.dataDir)
  const bearer = { authorization: `Bearer ${apiKey}` }
  for (const email of ["early@example.com", "late@example.com"])
    assert.strictEqual((await post(now, "/api/auth/register", { email, password })).status, 202)
  const asked = await post(now, "/api/auth/password-resets", { email: owner })
  assert.strictEqual(asked.status, 200, await asked.text())
  const verifyEarly = await tokenFor(place.dataDir, "early@example.com", "verify")
  const verifyLate = await tokenFor(place.dataDir, "late@example.com", "verify")
  const reset = await tokenFor(place.dataDir, owner, "reset")
  const soon = new Date(Date.now() + 24.5 * 60 * 60 * 1000).toISOString()
  const short = await (await post(now, "/api/api-keys", { name: "short", expires_at: soon }, bearer)).text()
  const shortBearer = { authorization: `Bearer ${/rk_[0-9A-Za-z]{49}/.exec(short)?.[0]}` }
  const idle = await login(now, owner)
  const kept = await login(now, owner)
  const create = (server: ServerProcess) =>
    post(
      server,
      `/api/workspaces/${workspaceId}/projects`,
      { slug: "once", name: "Once" },
      { ...bearer, "idempotency-key": "once" }
    )
  const made = await create(now)
  assert.strictEqual(made.status, 201)
  const project = await made.text()
  await stop(now)

  const almost = await serverAt("+23h")
  assert.strictEqual((await post(almost, "/api/auth/email-verifications", { token: verifyEarly })).status, 200)
  assert.strictEqual(await meOf(almost, shortBearer), 200)
  await stop(almost)

  const day = await serverAt("+25h")
  assert.strictEqual((await post(day, "/api/auth/email-verifications", { token: verifyLate })).status, 410)
  assert.strictEqual(
    (await post(day, "/api/auth/password-resets", { token: reset, new_password: "another long one" })).status,
    410
  )
  assert.strictEqual(await meOf(day, shortBearer), 401)
  assert.deepStrictEqual([await meOf(day, bearer), await meOf(day, idle)], [200, 200])
  const replayed = await create(day)
  assert.deepStrictEqual([replayed.status, replayed.headers.get("idempotency-replayed")], [201, "true"])
  assert.strictEqual(await replayed.text(), project)
  await stop(day)

  const three = await serverAt("+73h")
  const forgotten = await create(three)
  assert.deepStrictEqual([forgotten.status, forgotten.headers.get("idempotency-replayed")], [409, null])
  assert.strictEqual(await meOf(three, kept), 200)
  await stop(three)

  // `idle` was used last a day after its beginning, so it ends on the eighth; `kept` is used again and again.
  for (const days of [9, 15, 21, 27, 29, 31]) {
    const server = await serverAt(`+${days}d`)
    assert.strictEqual(await meOf(server, kept), days < 30 ? 200 : 401, `used again and again, on day ${days}`)
    assert.strictEqual(await meOf(server, idle), 401, `not used for more than 7 days, on day ${days}`)
    await stop(server)
  }
})

it("a clock that goes back by 25 hours leaves ids in their order, events gapless and nothing waiting for it", async () => {
  const ahead = await serverAt("+25h")
  const caller = await newCaller(ahead, place.dataDir)
  const workspace_id = caller.workspaceId
  const before = caller.at(ahead)
  const old = []
  for (let count = 0; count < 5; count++) old.push((await before.sessions.create({ workspace_id })).id)
  const [kept = ""] = old
  await before.sessions.uploadFile({ session_id: kept, path: "a.txt", content: "a\n" })
  // Nobody works this when the server is killed: its capture was due a day ahead.
  const captured = await before.sessions.capture({ session_id: kept })
  await stop(ahead)

  const back = await startServer({ dataDir: place.dataDir })
  const after = caller.at(back)
  const made = []
  for (let count = 0; count < 5; count++) made.push((await after.sessions.create({ workspace_id })).id)
  const listed = await allPages((page) => after.sessions.list({ workspace_id, limit: 2, ...page }))
  assert.deepStrictEqual(
    listed.map(({ id }) => id),
    [...old, ...made].reverse()
  )
  await after.jobs.wait({ job_id: captured.operation.job_id })
  assert.strictEqual((await after.changesets.get({ changeset_id: captured.changeset.id })).state, "ready")
  await after.sessions.uploadFile({ session_id: kept, path: "b.txt", content: "b\n" })
  const log = await wholeLog(after, kept)
  assert.strictEqual(new Set(log.map(({ id }) => id)).size, log.length)
  await stop(back)
})

const hour = 60 * 60 * 1000

for (const [died, lives] of [
  ["+25h", "+0"],
  ["+0", "+25h"]
] as const) {
  it(`a claim that a server at ${died} left behind ends when one at ${lives} starts, whenever it would run out`, async () => {
    const first = await serverAt(died)
    const caller = await newCaller(first, place.dataDir, place.gateway)
    const before = caller.at(first)
    const session_id = await caller.newSession(before)
    const begun = await beginTurn(before, session_id)
    await stop(first)
    const db = openSqlite(join(place.dataDir, "reins.db"), { readonly: true })
    const left = db.prepare("select 1 from jobs where state = 'running' and lease_expires_at > ?")
    assert.lengthOf(left.all(new Date(Date.now() + 24 * hour).toISOString()), died === "+25h" ? 1 : 0)
    db.close()

    const second = await serverAt(lives)
    const after = caller.at(second)
    const turn = await after.turns.wait({ turn_id: begun.turn_id })
    assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"])
    assert.deepStrictEqual(agentsIn(place.dataDir), [])
    await assertWorkerLost(after, begun.job_id)
    await after.turns.acknowledge({ turn_id: turn.id })
    await assertAnswers(after, session_id)
  })
}

it("a wait lasts as long as it was asked to while the clock jumps by 25 hours, ahead and back, again and again", async () => {
  const clock = join(place.directory, "clock")
  writeFileSync(clock, "+0")
  // The deadline of the delegation is beyond the jumps, because it is a time and would end the wait.
  const aWeek = { REINS_DELEGATION_SECONDS: "604800" }
  const server = await serverWith({ FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: "1", ...aWeek })
  const caller = await newCaller(server, place.dataDir, place.gateway)
  const client = caller.at(server)
  const { delegation, operation } = await client.sessions.delegate({
    session_id: await caller.newSession(client),
    role: "Reviewer",
    instructions: script("Look.", { say: "I looked." }),
    result_schema: { type: "object" }
  })
  await client.jobs.wait({ job_id: operation.job_id })

  const hoursAhead = async () => {
    const sentAt = Date.parse((await fetch(`${server.url}/healthz`)).headers.get("date") ?? "")
    return Math.round((sentAt - Date.now()) / hour)
  }
  let over = false
  const begun = performance.now()
  const waiting = client.delegations.wait({ delegation_id: delegation.id, timeout_seconds: 5 }).finally(() => {
    over = true
  })
  let jumps = 0
  for (; !over; jumps++) {
    const hours = jumps % 2 === 0 ? 25 : 0
    writeFileSync(clock, `+${hours}h`)
    // The server writes its date anew each second.
    while ((await hoursAhead()) !== hours && !over);
  }
  const waited = await waiting
  assert.isAtLeast(performance.now() - begun, 4990)
  assert.isAtLeast(jumps, 3)
  assert.deepStrictEqual([waited.wait.state, waited.delegation.state], ["pending", "waiting_result"])
})
