import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { newKey } from "@reins/testing/process/Caller"
import { type PostgresCluster, startCluster } from "@reins/testing/process/PostgresCluster"
import { killServers, published, reins, startServer } from "@reins/testing/process/ServerProcess"
import { afterEach, assert, beforeEach, it } from "vitest"

let root: string
let cluster: PostgresCluster | undefined
let old: string
let fresh: string

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "reins-chaos-"))
  cluster = await startCluster()
  old = await cluster.newDatabase("old")
  fresh = await cluster.newDatabase("fresh")
})
afterEach(async () => {
  await killServers()
  await cluster?.stop()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

/** Runs a line as the operator's shell does. `reins` is the published program. */
const shell = (line: string, databaseUrl: string | undefined) =>
  spawnSync("/bin/bash", ["-c", `reins() { ${process.execPath} ${published} "$@"; }\n${line}`], {
    cwd: root,
    encoding: "utf8",
    timeout: 300_000,
    env: {
      ...process.env,
      PATH: `${cluster?.bin}:${process.env["PATH"]}`,
      ...(databaseUrl !== undefined && { REINS_DATABASE_URL: databaseUrl })
    }
  })

it("an installation on PostgreSQL is backed up and restored by the very commands that it prints", async () => {
  const dataDir = join(root, "the data")
  const env = { REINS_DATABASE_URL: old }
  const server = await startServer({ dataDir, env })
  const apiKey = newKey(dataDir, env)
  const before = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await before.accounts.getMe()).workspaces[0]?.id ?? ""
  const connection = await before.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: "http://127.0.0.1:9/v1", api_key: "gateway-key" }
  })
  const session = await before.sessions.create({ workspace_id })
  const upload = (content: string) =>
    before.sessions.uploadFile({ session_id: session.id, path: "größe.txt", content, encoding: "utf-8" })
  await upload("sealed\n")
  const { changeset } = await before.sessions.capture({ session_id: session.id })
  for await (const event of before.sessions.stream({ session_id: session.id }))
    if (event.type === "changeset.ready") break
  const diff = await before.changesets.getDiff({ changeset_id: changeset.id })
  assert.include(diff.diff, "+sealed")

  const refused = reins(dataDir, ["backup", join(root, "files.tar")], env)
  assert.notStrictEqual(refused.status, 0)
  const printed = refused.stderr.split("\n").filter((line) => /^\s+(?:pg_|reins )/.test(line))
  const [dump = "", files = "", load = "", restore = ""] = printed
  assert.deepStrictEqual(
    printed.map((line) => line.trim().split(" ").slice(0, 2).join(" ")),
    ["pg_dump --format=custom", "reins backup", "pg_restore --no-owner", "reins restore"],
    refused.stderr
  )
  assert.notInclude(refused.stderr, "p%40ss")
  // Without the variable another database would be dumped.
  assert.notStrictEqual(shell(dump, undefined).status, 0)
  assert.isFalse(existsSync(join(root, "reins.dump")))

  // Data that is written between the dump and the files is in the files alone.
  const dumped = shell(dump, old)
  assert.strictEqual(dumped.status, 0, dumped.stderr)
  const later = await before.sessions.create({ workspace_id })
  await before.sessions.uploadFile({ session_id: later.id, path: "f.txt", content: "later\n" })
  await upload("after the dump\n")
  const copied = shell(files, old)
  assert.strictEqual(copied.status, 0, copied.stderr)
  server.kill("SIGTERM")
  await server.ended

  const loaded = shell(load, fresh)
  assert.deepStrictEqual([loaded.status, loaded.stderr], [0, ""])
  const elsewhere = join(root, "elsewhere")
  const line = restore
    .replace("<an empty directory>", elsewhere)
    .replace("<the keyring.json>", `'${join(dataDir, "keyring.json")}'`)
    .replace("<the backup>", join(root, "files.tar"))
  const restored = shell(line, fresh)
  assert.strictEqual(restored.status, 0, restored.stderr)

  const second = await startServer({ dataDir: elsewhere, env: { REINS_DATABASE_URL: fresh } })
  const after = new Reins({ baseUrl: second.url, apiKey })
  assert.deepStrictEqual(
    (await after.sessions.list({ workspace_id })).items.map(({ id }) => id),
    [session.id]
  )
  assert.isFalse(existsSync(join(elsewhere, "sessions", later.id)))
  assert.deepStrictEqual(await after.changesets.getDiff({ changeset_id: changeset.id }), diff)
  const file = await after.sessions.getFile({ session_id: session.id, path: "größe.txt" })
  assert.strictEqual(file.content, "after the dump\n")
  // The key ring opens what is sealed: a validation gets as far as the closed port.
  const { validation } = await after.connections.validate({ connection_id: connection.id })
  for (;;) {
    const [newest] = (await after.connections.listValidations({ connection_id: connection.id })).items
    assert.strictEqual(newest?.id, validation.id)
    if (newest?.finished_at === null) continue
    assert.deepStrictEqual([newest?.state, newest?.reason], ["inconclusive", "unreachable"])
    break
  }
  // The restored installation goes on: numbers and ids follow those of the dump.
  const next = await after.sessions.create({ workspace_id })
  assert.isAbove(next.id.localeCompare(session.id), 0)
  assert.strictEqual(reins(elsewhere, ["doctor"], { REINS_DATABASE_URL: fresh }).status, 0)
})
