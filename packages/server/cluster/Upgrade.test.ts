import { join } from "node:path"
import { release } from "@reins/base/base/Release"
import { newKey } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import {
  makeInstallation,
  nextRelease,
  reins,
  reinsAside,
  type ServerProcess,
  startServer
} from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import pg from "pg"
import { assert, it } from "vitest"
import { type Machine, newMachines } from "./Machines.js"
import { Traffic } from "./Traffic.js"

const place = placeForEachTest()

/** A node that is told to stop gives its sessions away first, for so long. No lease has to run out here, and a slow machine needs a long one. */
const settings = { REINS_NODE_DRAIN_SECONDS: "120", REINS_NODE_LEASE_SECONDS: "30", REINS_LEASE_SECONDS: "60" }

const readiness = async ({ url }: ServerProcess) => {
  const answer = await fetch(`${url}/readyz`)
  return { code: answer.status, body: await answer.json() }
}

it("three nodes go from one release to the next and back, one by one and under load, and nobody notices", async () => {
  const machines = await newMachines(place)
  const all: Array<Machine> = []
  for (const name of ["a", "b", "c"]) all.push(await machines.machine(name, settings))
  const servers = new Map<Machine, ServerProcess>()
  for (const machine of all) servers.set(machine, await machine.start())
  const serverOf = (machine: Machine) => servers.get(machine) ?? assert.fail(`${machine.name} is down`)
  const [a = assert.fail(), , c = a] = all
  const traffic = await Traffic.begin(await machines.caller(serverOf(a)), [...servers.values()], 3)

  const command = (args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}) =>
    reinsAside(join(place.directory, "operator"), args, { env: { ...machines.env, ...more }, program: nextRelease })
  const runs = async (...args: ReadonlyArray<string>) => {
    const { status, stderr, stdout } = await command(args)
    assert.strictEqual(status, 0, stderr)
    return stdout
  }
  const releases = async () =>
    (await runs("node", "list", "--json"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .map((node) => `${node.name} ${node.state} ${node.release}`)
  const moves = () => {
    const before = traffic.turns()
    return eventually("every session has had another turn", () =>
      traffic.turns().every((turns, index) => turns > (before[index] ?? 0))
    )
  }
  const replace = async (machine: Machine, program?: string) => {
    const server = serverOf(machine)
    server.kill("SIGTERM")
    assert.strictEqual((await server.ended).code, 0, server.log())
    servers.set(machine, await machine.start(program))
  }

  await moves()
  // The schema grows first, and the servers of this release go on with it.
  const migrated = JSON.parse(await runs("migrate"))
  const next = migrated.release
  assert.notStrictEqual(next, release)
  assert.deepInclude(migrated, { min_release: "0.1.0", applied: [{ id: 9000, name: "next_release" }] })
  await moves()
  for (const server of servers.values())
    assert.deepStrictEqual(await readiness(server), {
      code: 200,
      body: { status: "ready", checks: { database: "ok", migrations: "expanded", disk: "ok" } }
    })

  for (const machine of all) {
    if (machine === c) {
      assert.deepStrictEqual(await releases(), [`a active ${next}`, `b active ${next}`, `c active ${release}`])
      const early = await command(["migrate"], { REINS_TEST_CONTRACT: "yes" })
      assert.include(
        early.stderr,
        `what releases before ${next} use, and such a release is at work: stop the node c (${release})`
      )
      const checked = await command(["migrate", "--check"], { REINS_TEST_CONTRACT: "yes" })
      assert.include(checked.stderr, `stop the node c (${release})`)
    }
    await runs("node", "drain", machine.name, "--wait")
    await replace(machine, nextRelease)
  }
  await moves()
  assert.deepStrictEqual(
    await releases(),
    all.map(({ name }) => `${name} active ${next}`)
  )

  // The way back needs nothing but the older release. A node that is told to stop drains by itself.
  for (const machine of all) await replace(machine)
  await moves()
  assert.deepStrictEqual(
    await releases(),
    all.map(({ name }) => `${name} active ${release}`)
  )
  await traffic.end()
  await traffic.check()

  const client = new pg.Client({ connectionString: machines.env["REINS_DATABASE_URL"] })
  await client.connect()
  const { rows } = await client.query<{ written_by: string | null }>(
    "select written_by from messages order by created_at"
  )
  await client.end()
  const writers = rows.map(({ written_by }) => written_by)
  const both = writers.slice(writers.indexOf("next"), writers.lastIndexOf("next") + 1)
  assert.sameMembers([...new Set(both)], ["next", null], "both releases write beside each other")

  // The step that takes away comes when nobody uses that any more, and keeps the older release out from then on.
  for (const machine of all) {
    serverOf(machine).kill("SIGTERM")
    await serverOf(machine).ended
  }
  const contracted = await command(["migrate"], { REINS_TEST_CONTRACT: "yes" })
  assert.deepInclude(JSON.parse(contracted.stdout), {
    min_release: next,
    applied: [{ id: 9001, name: "without_notes" }]
  })
  const refused = await c.start().then(
    () => "it started",
    (error: unknown) => String(error)
  )
  assert.include(
    refused,
    `The data needs release ${next} of Reins or a newer one, and this is ${release}: run such a release`
  )
}, 900_000)

it("one machine goes to the next release and back, until something was taken away", async () => {
  const { dataDir } = place
  await makeInstallation(dataDir)
  newKey(dataDir)
  const next = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}, directory = dataDir) =>
    reinsAside(directory, args, { env, program: nextRelease })
  const stop = async (server: ServerProcess) => {
    server.kill("SIGTERM")
    assert.strictEqual((await server.ended).code, 0)
  }
  await stop(await startServer({ dataDir, program: nextRelease }))
  const server = await startServer({ dataDir })
  assert.deepStrictEqual(await readiness(server), {
    code: 200,
    body: { status: "ready", checks: { database: "ok", migrations: "expanded", disk: "ok" } }
  })
  const doctor = reins(dataDir, ["doctor", "--json"])
  assert.include(doctor.stdout, "to which a newer release has added: it works with 0.1.0 and newer")
  const expanded = join(place.directory, "expanded.tar")
  assert.strictEqual((await next(["backup", "--with-keyring", expanded])).status, 0)
  const restored = join(place.directory, "restored")
  assert.strictEqual(reins(restored, ["restore", expanded]).status, 0)
  await stop(await startServer({ dataDir: restored }))

  const contract = { REINS_TEST_CONTRACT: "yes" }
  const beside = await next(["keys", "create", "--email", "owner@example.com", "--name", "other"], contract)
  assert.include(
    beside.stderr,
    `such a release is at work: stop the server of ${dataDir} (of a release that is not known)`
  )
  await stop(server)
  assert.strictEqual((await next(["migrate"], contract)).status, 0)
  const contracted = join(place.directory, "contracted.tar")
  assert.strictEqual((await next(["backup", "--with-keyring", contracted], contract)).status, 0)
  const words =
    /The data needs release \S+ of Reins or a newer one, and this is \S+: run such a release, or restore a backup that was made before the upgrade; nothing was changed\.\n$/
  for (const args of [["migrate", "--check"], ["serve"], ["keyring", "rotate"]])
    assert.match(reins(dataDir, args).stderr, words)
  const refused = reins(join(place.directory, "never"), ["restore", contracted])
  assert.match(refused.stderr, words)
})
