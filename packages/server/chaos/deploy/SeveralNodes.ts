import { join } from "node:path"
import { load } from "@reins/server/Config"
import { newCaller } from "@reins/testing/process/Caller"
import type { Place } from "@reins/testing/process/Place"
import { reins } from "@reins/testing/process/ServerProcess"
import { assertAnswers } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect } from "effect"
import { assert } from "vitest"
import type { Container, Network, Running } from "./Containers.js"
import { imageSays } from "./Deploy.js"

/** Checks that each `REINS_` variable that a container gets is a setting, and has a value that it takes. */
export const assertSettings = async (environment: Readonly<Record<string, string>>) => {
  const all = { ...imageSays.environment, ...environment }
  const given = Object.entries(all).filter(([name, value]) => name.startsWith("REINS_") && value !== "")
  // Given as flags, a name that is no setting is refused; in the environment it is passed over.
  const flags = Object.fromEntries(given.map(([name, value]) => [name.slice("REINS_".length).toLowerCase(), value]))
  // A command line may name the node.
  const named = Object.keys(flags).some((name) => name.startsWith("node_")) ? { node: "a", ...flags } : flags
  await Effect.runPromise(load(named, {}, "/nowhere"))
}

/** An installation on several nodes, as a file describes it. */
export interface Installation {
  readonly network: Network
  /** Those that run to their end before the nodes start, in this order. */
  readonly first: ReadonlyArray<Container>
  /** The nodes by their names. */
  readonly nodes: Readonly<Record<string, Container>>
  /** The node that clients call. */
  readonly entry: string
  /** The container that drains a node and waits. */
  readonly drain: (node: string) => Container
  /** The key ring that the file gives to the nodes, on this machine. */
  readonly keyFile: string
  readonly changes: Readonly<Record<string, string>>
}

/**
 * Starts an installation and has a session work on it: its files are reached through the entry, it goes on on another node when its own is drained,
 * and all nodes stop in order.
 */
export const assertWorkAcrossNodes = async (place: Place, installation: Installation) => {
  const { drain, entry, first, keyFile, network, nodes } = installation
  const ofMachine = {
    REINS_DATABASE_URL: await place.newPostgresDatabase(),
    REINS_SMTP_URL: "smtp://127.0.0.1:9",
    REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
    REINS_LOG_LEVEL: "warning",
    // As the first process of its namespace tini reaps without being told.
    ...installation.changes
  }
  const toItsEnd = async (container: Container) => {
    const { code, output } = await network.start(container, ofMachine).ended
    assert.strictEqual(code, 0, output)
  }
  for (const container of first) await toItsEnd(container)
  const servers: Record<string, Running> = {}
  for (const [name, container] of Object.entries(nodes)) servers[name] = network.start(container, ofMachine)
  const urls = Object.fromEntries(
    await Promise.all(Object.entries(servers).map(async ([name, { url }]) => [name, await url] as const))
  )
  for (const [name, url] of Object.entries(urls)) {
    for (const probe of ["healthz", "readyz"])
      await eventually(`${name} says ${probe}`, async () => (await fetch(`${url}/${probe}`)).status === 200)
  }

  const operator = join(place.directory, "operator")
  const env = { ...ofMachine, REINS_KEY_FILE: keyFile }
  const list = () =>
    reins(operator, ["node", "list", "--json"], env)
      .stdout.trim()
      .split("\n")
      .map((line): { name: string; role: string; sessions: number } => JSON.parse(line))
  assert.sameMembers(
    list().map(({ name }) => name),
    Object.keys(nodes)
  )
  const server = { url: urls[entry] ?? "" }
  const caller = await newCaller(server, operator, place.gateway, env)
  const client = caller.at(server)
  const session_id = await caller.newSession(client)
  await assertAnswers(client, session_id)
  const path = "note.txt"
  await client.sessions.uploadFile({ session_id, path, content: "a note", encoding: "utf-8" })
  assert.strictEqual((await client.sessions.getFile({ session_id, path })).content, "a note")

  const owner = list().find(({ sessions }) => sessions === 1)
  assert.strictEqual(owner?.role, "runner")
  await toItsEnd(drain(owner?.name ?? ""))
  await assertAnswers(client, session_id)
  assert.strictEqual((await client.sessions.getFile({ session_id, path })).content, "a note")
  assert.notStrictEqual(list().find(({ sessions }) => sessions === 1)?.name, owner?.name)

  for (const [name, { ended, signal }] of Object.entries(servers)) {
    signal("SIGTERM")
    const { code, output } = await ended
    assert.strictEqual(code, 0, `${name}: ${output}`)
  }
}
