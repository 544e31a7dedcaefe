import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { newCaller, newKey, password } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { makeInstallation, reins, reinsAside, startServer } from "@reins/testing/process/ServerProcess"
import { assert, it } from "vitest"

const place = placeForEachTest()

it("data that needs a newer release is refused by the server and every command, and left as it is", async () => {
  const { dataDir } = place
  await makeInstallation(dataDir)
  newKey(dataDir)
  const file = join(place.directory, "before.tar")
  assert.strictEqual(reins(dataDir, ["backup", "--with-keyring", file]).status, 0)
  const database = join(dataDir, "reins.db")
  const future = openSqlite(database)
  future.exec("update agreements set value = '9.8.7' where name = 'min_release'")
  future.pragma("wal_checkpoint(truncate)")
  future.close()
  const before = readFileSync(database)
  const refused = await startServer({ dataDir }).then(
    () => "it started",
    (error: unknown) => String(error)
  )
  assert.match(refused, /needs release 9\.8\.7 of Reins or a newer one.*run such a release/s)
  const commands = [["migrate"], ["migrate", "--check"], ["doctor"], ["backup", join(place.directory, "no.tar")]]
  for (const args of [...commands, ["keyring", "rotate"], ["accounts", "create", "--email", "b@example.com"]]) {
    const { status, stderr, stdout } = reins(dataDir, args, { REINS_PASSWORD: password })
    assert.notStrictEqual(status, 0, args.join(" "))
    assert.include(`${stdout}${stderr}`, "needs release 9.8.7", args.join(" "))
    assert.notInclude(stderr, "    at ", "a refusal is a sentence")
  }
  assert.isTrue(readFileSync(database).equals(before))

  // The backup from before the upgrade is the way back.
  const back = join(place.directory, "back")
  assert.strictEqual(reins(back, ["restore", file]).status, 0)
  const server = await startServer({ dataDir: back })
  server.kill("SIGTERM")
  assert.strictEqual((await server.ended).code, 0)
})

it("migrate makes the schema and waits for no server, and is refused beside one", async () => {
  const { dataDir } = place
  assert.notStrictEqual(reins(dataDir, ["migrate"]).status, 0)
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, "reins.db"), "", { mode: 0o600 })
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
  const { dataDir } = place
  const server = await startServer({ dataDir })
  const caller = await newCaller(server, dataDir)
  const connect = () =>
    caller.at(server).connections.create(
      {
        workspace_id: caller.workspaceId,
        kind: "git",
        label: "g",
        credential: { origin: "https://git.example", username: "u", password: "p" }
      },
      { idempotencyKey: "connect" }
    )
  const made = await connect()
  // The running server seals with the new key, and the credential opens before and after.
  const rotated = await reinsAside(dataDir, ["keyring", "rotate"])
  assert.strictEqual(rotated.status, 0, rotated.stderr)
  assert.strictEqual(JSON.parse(rotated.stdout).rewrapped, 3)
  assert.deepStrictEqual(await connect(), made)
  server.kill("SIGKILL")
  await server.ended

  const ring = join(dataDir, "keyring.json")
  copyFileSync(ring, join(place.directory, "kept.json"))
  rmSync(ring)
  const refused = await startServer({ dataDir }).then(
    () => "it started",
    (error: unknown) => String(error)
  )
  const { current } = JSON.parse(rotated.stdout)
  assert.match(refused, new RegExp(`sealed with the key ${current}.*reins keyring forget ${current}`, "s"))
  assert.notStrictEqual(reins(dataDir, ["doctor"]).status, 0)
  const lost = readFileSync(ring)
  copyFileSync(join(place.directory, "kept.json"), ring)
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
