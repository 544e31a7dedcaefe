import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import SqliteDatabase from "better-sqlite3"
import { afterEach, assert, beforeEach, it } from "vitest"
import { killServers, newKey, reins, reinsAside, startServer } from "./ServerProcess.js"

let root: string
let dataDir: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "reins-chaos-"))
  dataDir = join(root, "data")
})
afterEach(() => {
  killServers()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

it("the data of a newer release is refused by the server and every command, and left as it is", async () => {
  newKey(dataDir)
  const file = join(root, "before.tar")
  assert.strictEqual(reins(dataDir, ["backup", "--with-keyring", file]).status, 0)
  const database = join(dataDir, "reins.db")
  const future = new SqliteDatabase(database)
  future.exec("insert into effect_sql_migrations (migration_id, name) values (9999, 'from_the_future')")
  future.pragma("wal_checkpoint(truncate)")
  future.close()
  const before = readFileSync(database)
  const refused = await startServer({ dataDir }).then(
    () => "it started",
    (error: unknown) => String(error)
  )
  assert.match(refused, /of a newer release of Reins.*9999_from_the_future.*Run the newer release/s)
  const commands = [["migrate"], ["migrate", "--check"], ["doctor"], ["backup", join(root, "no.tar")]]
  for (const args of [...commands, ["keyring", "rotate"], ["accounts", "create", "--email", "b@example.com"]]) {
    const { status, stderr, stdout } = reins(dataDir, args, { REINS_PASSWORD: "correct horse battery staple" })
    assert.notStrictEqual(status, 0, args.join(" "))
    assert.include(`${stdout}${stderr}`, "newer release", args.join(" "))
    assert.notInclude(stderr, "    at ", "a refusal is a sentence")
  }
  assert.isTrue(readFileSync(database).equals(before))

  // What was backed up before the upgrade is the way back.
  const back = join(root, "back")
  assert.strictEqual(reins(back, ["restore", file]).status, 0)
  const server = await startServer({ dataDir: back })
  server.kill("SIGTERM")
  assert.strictEqual((await server.ended).code, 0)
})

it("migrate makes the schema and waits for no server, and is refused beside one", async () => {
  const check = reins(dataDir, ["migrate", "--check"])
  assert.notStrictEqual(check.status, 0)
  assert.deepInclude(JSON.parse(check.stdout), { applied: [] })
  const made = reins(dataDir, ["migrate"])
  assert.strictEqual(made.status, 0, made.stderr)
  assert.isNotEmpty(JSON.parse(made.stdout).applied)
  assert.strictEqual(reins(dataDir, ["migrate", "--check"]).status, 0)
  const server = await startServer({ dataDir })
  const refused = reins(dataDir, ["migrate"])
  assert.notStrictEqual(refused.status, 0)
  assert.include(refused.stderr, "Another Reins server uses the data directory")
  server.kill("SIGTERM")
  await server.ended
})

it("a key ring that went missing is named at the start, and its copy or giving up lets the server start", async () => {
  const server = await startServer({ dataDir })
  const key = newKey(dataDir)
  const send = (path: string, body: unknown) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": path },
      body: JSON.stringify(body)
    })
  const me = await new Reins({ baseUrl: server.url, apiKey: key }).accounts.me()
  const made = await send(`/api/workspaces/${me.workspaces[0]?.id}/connections`, {
    kind: "git",
    label: "g",
    credential: { username: "u", password: "p" }
  })
  assert.strictEqual(made.status, 201)
  // The running server seals with the new key, and the credential opens before and after.
  const rotated = await reinsAside(dataDir, ["keyring", "rotate"])
  assert.strictEqual(rotated.status, 0, rotated.stderr)
  assert.strictEqual(JSON.parse(rotated.stdout).rewrapped, 1)
  const again = await send(`/api/workspaces/${me.workspaces[0]?.id}/connections`, {
    kind: "git",
    label: "g",
    credential: { username: "u", password: "p" }
  })
  assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
  server.kill("SIGKILL")
  await server.ended

  const ring = join(dataDir, "keyring.json")
  copyFileSync(ring, join(root, "kept.json"))
  rmSync(ring)
  const refused = await startServer({ dataDir }).then(
    () => "it started",
    (error: unknown) => String(error)
  )
  const { current } = JSON.parse(rotated.stdout)
  assert.match(refused, new RegExp(`sealed with the key ${current}.*reins keyring forget ${current}`, "s"))
  assert.notStrictEqual(reins(dataDir, ["doctor"]).status, 0)
  const lost = readFileSync(ring)
  copyFileSync(join(root, "kept.json"), ring)
  const back = await startServer({ dataDir })
  back.kill("SIGKILL")
  await back.ended
  rmSync(ring)
  assert.strictEqual(reins(dataDir, ["keyring", "forget", current]).status, 0)
  const without = await startServer({ dataDir })
  assert.isFalse(readFileSync(ring).equals(lost))
  without.kill("SIGKILL")
  await without.ended
})
