import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { afterEach, assert, beforeEach, it } from "vitest"
import { type Gateway, startGateway } from "../../../examples/scripted-gateway/gateway.mjs"
import { agentProcesses, killServers, newKey, reins, reinsAside, startServer } from "./ServerProcess.js"

let root: string
let dataDir: string
let elsewhere: string
let gateway: Gateway

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "reins-chaos-"))
  dataDir = join(root, "data")
  elsewhere = join(root, "elsewhere")
  gateway = await startGateway()
})
afterEach(async () => {
  killServers()
  await gateway.close()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

const script = (steps: ReadonlyArray<object>) => `Do it. SCRIPT:${JSON.stringify(steps)}`

/** Every event of a session, in the order of the log. */
const eventsOf = async (client: Reins, session_id: string) => {
  const all = []
  for (let after = 0; ; ) {
    const page = await client.sessions.events({ session_id, after, limit: 1000 })
    all.push(...page.items)
    if (!page.has_more || page.next_after === null) return all
    after = page.next_after
  }
}

it("a backup under load restores to all that was acknowledged before it, whole, and the agents go on", async () => {
  const server = await startServer({ dataDir })
  const apiKey = newKey(dataDir)
  const before = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await before.accounts.me()).workspaces[0]?.id ?? ""
  await before.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: gateway.url, api_key: "gateway-key-canary-51" }
  })
  const harness = { provider_id: "alpha", model: "scripted-1" }
  const worked = await before.sessions.create({ workspace_id, harness })
  const first = await before.run({
    session_id: worked.id,
    content: script([{ tool: "write", path: "made.txt", content: "by the agent\n" }, { say: "Made." }])
  })
  assert.strictEqual(first.turn.state, "succeeded")
  const [changeset] = (await before.sessions.listChangesets({ session_id: worked.id })).items
  assert.strictEqual(changeset?.state, "ready")
  const diff = (await before.changesets.diff({ changeset_id: changeset?.id ?? "" })).diff
  assert.include(diff, "by the agent")

  const busy = await before.sessions.create({ workspace_id, harness })
  const running = await before.messages.send({
    session_id: busy.id,
    content: script([{ tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" }])
  })
  for await (const event of before.sessions.stream({ session_id: busy.id })) if (event.type === "tool.started") break
  const lease = (await before.sessions.get({ session_id: busy.id })).executor.lease_id ?? ""
  const agents = agentProcesses(lease)
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
  const file = join(root, "backup.tar")
  const made = await reinsAside(dataDir, ["backup", file])
  assert.strictEqual(made.status, 0, made.stderr)
  assert.include(made.stderr, "NOT in the backup")
  assert.deepInclude(JSON.parse(made.stdout), { event: "backup", file, key_ring: "left_out", database: "sqlite" })
  const meanwhile = acknowledged.length
  over = true
  await Promise.all(writers)
  assert.isAbove(meanwhile, asked.length, "nothing was written while the backup was made")
  const keyRing = join(root, "keyring.json")
  copyFileSync(join(dataDir, "keyring.json"), keyRing)
  const keys: Record<string, string> = JSON.parse(readFileSync(keyRing, "utf8")).keys
  const bytes = readFileSync(file)
  for (const secret of [...Object.values(keys), "gateway-key-canary-51", apiKey])
    assert.isFalse(bytes.includes(secret), "a secret is in the backup")

  const refused = reins(elsewhere, ["restore", file])
  assert.notStrictEqual(refused.status, 0)
  assert.include(refused.stderr, "--keyring")
  const restored = reins(elsewhere, ["restore", file, "--keyring", keyRing])
  assert.strictEqual(restored.status, 0, restored.stderr)
  assert.strictEqual(reins(elsewhere, ["doctor"]).status, 0)

  // The first installation still runs, on the same machine: its agents are not the business of the second.
  const second = await startServer({ dataDir: elsewhere })
  const after = new Reins({ baseUrl: second.url, apiKey })
  const ended = await after.turns.wait({ turn_id: running.turn_id ?? "" })
  assert.deepStrictEqual([ended.state, ended.reason], ["interrupted", "service_restart"])
  assert.includeMembers([...agentProcesses(lease)], [...agents])
  server.kill("SIGKILL")
  await server.ended

  for (const id of asked) {
    const session = await after.sessions.get({ session_id: id })
    const { content } =
      session.workspace.state === "ready"
        ? await after.sessions.readFile({ session_id: id, path: "f.txt" })
        : { content: "closed\n" }
    assert.match(content, /^(?:\d+ \d+|closed)\n$/)
  }
  const known = new Set<string>()
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await after.sessions.list({ workspace_id, limit: 200, ...(cursor !== undefined && { cursor }) })
    for (const session of page.items) {
      known.add(session.id)
      const events = await eventsOf(after, session.id)
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1)
      )
      assert.strictEqual(events.length, (await after.sessions.get({ session_id: session.id })).event_watermark)
    }
    cursor = page.next_cursor
  }
  assert.isTrue(asked.every((id) => known.has(id)))

  assert.strictEqual((await after.changesets.diff({ changeset_id: changeset?.id ?? "" })).diff, diff)
  const target = await after.sessions.create({ workspace_id, harness })
  await after.sessions.uploadFile({ session_id: target.id, path: "mine.txt", content: "mine\n" })
  const { application } = await after.changesets.apply({
    changeset_id: changeset?.id ?? "",
    target_session_id: target.id
  })
  for await (const event of after.sessions.stream({ session_id: target.id }))
    if (event.type === "workspace.applied" || event.type === "workspace.apply_conflicted") break
  assert.strictEqual((await after.applications.get({ application_id: application.id })).state, "applied")
  const applied = await after.sessions.readFile({ session_id: target.id, path: "made.txt" })
  assert.strictEqual(applied.content, "by the agent\n")

  // The agent's own state came along: it goes on with the conversation that it had.
  const next = await after.run({ session_id: worked.id, content: script([{ say: "Still here." }]) })
  assert.deepStrictEqual([next.turn.state, next.text.trim()], ["succeeded", "Still here."])
  assert.isFalse(existsSync(join(elsewhere, ".restore")))
  assert.isEmpty(readdirSync(root).filter((name) => name.includes(".partial")))
})

it("a backup that is killed leaves no file of its name, and one of a stopped installation is as good", async () => {
  const server = await startServer({ dataDir })
  const apiKey = newKey(dataDir)
  const client = new Reins({ baseUrl: server.url, apiKey })
  const workspace_id = (await client.accounts.me()).workspaces[0]?.id ?? ""
  await client.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: gateway.url, api_key: "k" }
  })
  const session = await client.sessions.create({ workspace_id })
  await client.sessions.uploadFile({ session_id: session.id, path: "f.txt", content: "f\n" })
  server.kill("SIGKILL")
  await server.ended
  const file = join(root, "backup.tar")
  const killed = await reinsAside(dataDir, ["backup", file], { killAt: /copying the database|session 1/ })
  assert.notStrictEqual(killed.status, 0)
  assert.isFalse(existsSync(file))
  const made = reins(dataDir, ["backup", "--with-keyring", file])
  assert.strictEqual(made.status, 0, made.stderr)
  assert.strictEqual(reins(elsewhere, ["restore", file]).status, 0)
  const second = await startServer({ dataDir: elsewhere })
  const after = new Reins({ baseUrl: second.url, apiKey })
  assert.strictEqual((await after.sessions.readFile({ session_id: session.id, path: "f.txt" })).content, "f\n")
})
