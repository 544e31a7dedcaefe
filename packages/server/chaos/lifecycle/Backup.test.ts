import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { processesOf } from "@reins/testing/executor/Processes"
import { gatewayKey, newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { reins, reinsAside, startServer } from "@reins/testing/process/ServerProcess"
import { allPages, assertAnswers, beginTurn, endlessTool, wholeLog } from "@reins/testing/process/Turns"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"

const place = placeForEachTest()

it("a backup under load restores to all that was acknowledged before it, whole, and the agents go on", async () => {
  const { dataDir } = place
  const elsewhere = join(place.directory, "elsewhere")
  const server = await startServer({ dataDir })
  const caller = await newCaller(server, dataDir, place.gateway)
  const { apiKey, workspaceId: workspace_id } = caller
  const before = caller.at(server)
  const worked = await caller.newSession(before)
  const first = await before
    .run({
      session_id: worked,
      content: script("Do it.", { tool: "write", path: "made.txt", content: "by the agent\n" }, { say: "Made." })
    })
    .final()
  assert.strictEqual(first.turn.state, "succeeded")
  const [changeset] = (await before.sessions.listChangesets({ session_id: worked })).items
  assert.strictEqual(changeset?.state, "ready")
  const diff = (await before.changesets.getDiff({ changeset_id: changeset?.id ?? "" })).diff
  assert.include(diff, "by the agent")

  const busy = await caller.newSession(before)
  const running = await beginTurn(before, busy, endlessTool(), "tool.started")
  const agents = processesOf(running.lease_id)
  assert.isNotEmpty(agents)

  const acknowledged: Array<string> = []
  let over = false
  let enough = () => {}
  const begun = new Promise<void>((resolve) => {
    enough = resolve
  })
  const writer = async (number: number) => {
    for (let count = 0; !over; count++) {
      const session = await before.sessions.create({ workspace_id, title: `${number}-${count}` })
      await before.sessions.uploadFile({ session_id: session.id, path: "f.txt", content: `${number} ${count}\n` })
      acknowledged.push(session.id)
      if (acknowledged.length === 12) enough()
      await before.sessions.update({ session_id: session.id, title: `${number}-${count} again` })
      if (count % 3 === 2) await before.sessions.close({ session_id: session.id })
    }
  }
  const writers = [1, 2].map(writer)
  await begun
  const asked = [...acknowledged]
  const file = join(place.directory, "backup.tar")
  const made = await reinsAside(dataDir, ["backup", file])
  assert.strictEqual(made.status, 0, made.stderr)
  assert.include(made.stderr, "NOT in the backup")
  assert.deepInclude(JSON.parse(made.stdout), { event: "backup", file, key_ring: "left_out", database: "sqlite" })
  const meanwhile = acknowledged.length
  over = true
  await Promise.all(writers)
  assert.isAbove(meanwhile, asked.length, "nothing was written while the backup was made")
  const keyRing = join(place.directory, "keyring.json")
  copyFileSync(join(dataDir, "keyring.json"), keyRing)
  const keys: Record<string, string> = JSON.parse(readFileSync(keyRing, "utf8")).keys
  const bytes = readFileSync(file)
  for (const secret of [...Object.values(keys), gatewayKey, apiKey])
    assert.isFalse(bytes.includes(secret), "a secret is in the backup")

  const refused = reins(elsewhere, ["restore", file])
  assert.notStrictEqual(refused.status, 0)
  assert.include(refused.stderr, "--keyring")
  const restored = reins(elsewhere, ["restore", file, "--keyring", keyRing])
  assert.strictEqual(restored.status, 0, restored.stderr)
  assert.strictEqual(reins(elsewhere, ["doctor"]).status, 0)

  // The first installation still runs, on the same machine: its agents are not the business of the second.
  const second = await startServer({ dataDir: elsewhere })
  const after = caller.at(second)
  const ended = await after.turns.wait({ turn_id: running.turn_id })
  assert.deepStrictEqual([ended.state, ended.reason], ["interrupted", "service_restart"])
  assert.includeMembers([...processesOf(running.lease_id)], [...agents])
  server.kill("SIGKILL")
  await server.ended

  for (const id of asked) {
    const session = await after.sessions.get({ session_id: id })
    const { content } =
      session.workspace.state === "ready"
        ? await after.sessions.getFile({ session_id: id, path: "f.txt" })
        : { content: "closed\n" }
    assert.match(content, /^(?:\d+ \d+|closed)\n$/)
  }
  const sessions = await allPages((page) => after.sessions.list({ workspace_id, limit: 200, ...page }))
  const known = new Set<string>(sessions.map(({ id }) => id))
  assert.isTrue(asked.every((id) => known.has(id)))
  for (const { event_watermark, id } of sessions)
    assert.strictEqual((await wholeLog(after, id)).length, event_watermark)

  assert.strictEqual((await after.changesets.getDiff({ changeset_id: changeset?.id ?? "" })).diff, diff)
  const target_session_id = await caller.newSession(after)
  await after.sessions.uploadFile({ session_id: target_session_id, path: "mine.txt", content: "mine\n" })
  const { application, operation } = await after.changesets.apply({
    changeset_id: changeset?.id ?? "",
    target_session_id
  })
  await after.jobs.wait({ job_id: operation.job_id })
  assert.strictEqual((await after.applications.get({ application_id: application.id })).state, "applied")
  const applied = await after.sessions.getFile({ session_id: target_session_id, path: "made.txt" })
  assert.strictEqual(applied.content, "by the agent\n")

  // The agent's own state came along: it goes on with the conversation that it had.
  await assertAnswers(after, worked)
  assert.isFalse(existsSync(join(elsewhere, ".restore")))
  assert.isEmpty(readdirSync(place.directory).filter((name) => name.includes(".partial")))
})

it("a backup that is killed leaves no file of its name, and one of a stopped installation is as good", async () => {
  const { dataDir } = place
  const elsewhere = join(place.directory, "elsewhere")
  const server = await startServer({ dataDir })
  const caller = await newCaller(server, dataDir, place.gateway)
  const client = caller.at(server)
  const session_id = await caller.newSession(client)
  await client.sessions.uploadFile({ session_id, path: "f.txt", content: "f\n" })
  server.kill("SIGKILL")
  await server.ended
  const file = join(place.directory, "backup.tar")
  const killed = await reinsAside(dataDir, ["backup", file], { killAt: /copying the database|session 1/ })
  assert.notStrictEqual(killed.status, 0)
  assert.isFalse(existsSync(file))
  const made = reins(dataDir, ["backup", "--with-keyring", file])
  assert.strictEqual(made.status, 0, made.stderr)
  assert.strictEqual(reins(elsewhere, ["restore", file]).status, 0)
  const second = await startServer({ dataDir: elsewhere })
  const after = caller.at(second)
  assert.strictEqual((await after.sessions.getFile({ session_id, path: "f.txt" })).content, "f\n")
})
