import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { killServers, newKey, password, type ServerProcess, startServer } from "./ServerProcess.js"

const library = readdirSync("/usr/lib")
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "reins-chaos-"))
})
afterEach(() => {
  killServers()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

/** A server whose clock is ahead, as in `+25h`; its timers go on as they are. */
const serverAt = (ahead: string) =>
  startServer({
    dataDir,
    env: { LD_PRELOAD: library ?? "no libfaketime", FAKETIME: ahead, DONT_FAKE_MONOTONIC: "1" }
  })

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

/** The token of the newest mail to an address, once there is one with such a link. */
const tokenFor = async (email: string, link: "verify" | "reset"): Promise<string> => {
  for (const end = performance.now() + 60_000; performance.now() < end; ) {
    const outbox = join(dataDir, "outbox")
    const names = existsSync(outbox) ? readdirSync(outbox) : []
    for (const name of names
      .filter((each) => each.endsWith(".eml"))
      .sort()
      .reverse()) {
      // Long lines are wrapped as quoted-printable has it.
      const text = readFileSync(join(outbox, name), "utf8").replaceAll("=\r\n", "")
      const token = new RegExp(`/${link}\\?([\\w-]{43})\\r`).exec(text)?.[1]
      if (text.includes(`To: ${email}\r\n`) && token !== undefined) return token
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`There is no mail with a ${link} link for ${email}`)
}

it("tokens, keys, logins and stored answers end exactly when it is said, and not before", async () => {
  const owner = "owner@example.com"
  const now = await serverAt("+0")
  const bearer = { authorization: `Bearer ${newKey(dataDir)}` }
  const workspace = (await new Reins({ baseUrl: now.url, apiKey: bearer.authorization.slice(7) }).accounts.me())
    .workspaces[0]?.id
  for (const email of ["early@example.com", "late@example.com"])
    assert.strictEqual((await post(now, "/api/auth/register", { email, password })).status, 202)
  const asked = await post(now, "/api/auth/password-resets", { email: owner })
  assert.strictEqual(asked.status, 200, await asked.text())
  const verifyEarly = await tokenFor("early@example.com", "verify")
  const verifyLate = await tokenFor("late@example.com", "verify")
  const reset = await tokenFor(owner, "reset")
  const soon = new Date(Date.now() + 24.5 * 60 * 60 * 1000).toISOString()
  const short = await (await post(now, "/api/api-keys", { name: "short", expires_at: soon }, bearer)).text()
  const shortBearer = { authorization: `Bearer ${/rk_[0-9A-Za-z]{49}/.exec(short)?.[0]}` }
  const idle = await login(now, owner)
  const kept = await login(now, owner)
  const create = (server: ServerProcess) =>
    post(
      server,
      `/api/workspaces/${workspace}/projects`,
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
  const apiKey = newKey(dataDir)
  const before = new Reins({ baseUrl: ahead.url, apiKey })
  const workspace_id = (await before.accounts.me()).workspaces[0]?.id ?? ""
  await before.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "g",
    credential: { base_url: "http://127.0.0.1:9", api_key: "k" }
  })
  const old = []
  for (let count = 0; count < 5; count++) old.push((await before.sessions.create({ workspace_id })).id)
  const [kept = ""] = old
  await before.sessions.uploadFile({ session_id: kept, path: "a.txt", content: "a\n" })
  // Nobody works this when the server is killed: its capture was due a day ahead.
  const captured = await before.sessions.capture({ session_id: kept })
  await stop(ahead)

  const back = await startServer({ dataDir })
  const after = new Reins({ baseUrl: back.url, apiKey })
  const made = []
  for (let count = 0; count < 5; count++) made.push((await after.sessions.create({ workspace_id })).id)
  const listed = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await after.sessions.list({ workspace_id, limit: 2, ...(cursor !== undefined && { cursor }) })
    listed.push(...page.items.map(({ id }) => id))
    cursor = page.next_cursor
  }
  assert.deepStrictEqual(listed, [...old, ...made].reverse())
  for await (const event of after.sessions.stream({ session_id: kept })) if (event.type === "changeset.ready") break
  assert.strictEqual((await after.changesets.get({ changeset_id: captured.changeset.id })).state, "ready")
  await after.sessions.uploadFile({ session_id: kept, path: "b.txt", content: "b\n" })
  const { items } = await after.sessions.events({ session_id: kept, limit: 1000 })
  assert.deepStrictEqual(
    items.map(({ seq }) => seq),
    items.map((_, index) => index + 1)
  )
  assert.strictEqual(new Set(items.map(({ id }) => id)).size, items.length)
  await stop(back)
})
