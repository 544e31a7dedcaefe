import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SessionId } from "@reins/base/domain/Ids"
import { agentPlaces, sessionPaths } from "@reins/machine/bench/SessionPaths"
import { CapabilityProof } from "@reins/machine/harness/Capability"
import { Check } from "@reins/machine/harness/Evidence"
import { Manifests } from "@reins/machine/harness/Manifests"
import { type OptionalProvider, optionalProviders, readOptional } from "@reins/machine/harness/OptionalManifests"
import { agentsIn } from "@reins/testing/executor/Processes"
import { bareRemote } from "@reins/testing/git/Fixture"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { makeInstallation, reins, reinsAside, startServer } from "@reins/testing/process/ServerProcess"
import { share } from "@reins/testing/Volume"
import { Effect, Schema } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { enable, protocolOf } from "./Optional.js"

const place = placeForEachTest(inHome)

const Report = Schema.parseJson(Schema.Struct({ checks: Schema.Array(Check), proofs: Schema.Array(CapabilityProof) }))

/** Two that start soon; a soak installs and runs all of them. */
const chosen = (process.env["REINS_AGENTS"]?.split(",") ?? share(["goose", "gemini"], optionalProviders)).filter(
  (id): id is OptionalProvider => optionalProviders.some((known) => known === id)
)

for (const provider_id of chosen) {
  it(`${provider_id} is enabled, installed, and works to a changeset through a gateway connection`, async () => {
    const { dataDir, directory, gateway } = place
    await enable(dataDir, provider_id)
    const server = await startServer({ dataDir, env: { REINS_ALLOW_LOCAL_REPOSITORIES: "on" } })
    const { at, workspaceId } = await newCaller(server, dataDir, gateway)
    const client = at(server)
    const protocol = await protocolOf(provider_id)
    const { id: connection_id } = await client.connections.create({
      workspace_id: workspaceId,
      kind: "gateway",
      label: "models",
      credential: {
        base_url: protocol === "gemini" ? gateway.geminiUrl : gateway.url,
        api_key: "gateway-key-canary-77",
        protocol
      }
    })
    const { operation } = await client.connections.validate({ connection_id })
    await client.jobs.wait(operation)
    assert.strictEqual((await client.connections.get({ connection_id })).health, "ready")

    // A newer one, which speaks nothing that the agent does, is not taken.
    await client.connections.create({
      workspace_id: workspaceId,
      kind: "gateway",
      label: "other",
      credential: {
        base_url: "http://127.0.0.1:9/v1",
        api_key: "gateway-key-canary-78",
        protocol: protocol === "gemini" ? "openai_chat" : "gemini"
      }
    })
    const session = await client.sessions.create({
      workspace_id: workspaceId,
      repository: { url: bareRemote(directory, { "README.md": "hello\n" }) },
      harness: { provider_id, model: "scripted-1" }
    })
    const session_id = session.id
    const id = SessionId.make(session_id)
    const { backend } = await client.sessions.getExecutor({ session_id })
    const workspaceDir = backend === "local" ? sessionPaths(dataDir, id).workTree : agentPlaces(id).workspaceDir
    const path = join(workspaceDir, "added.txt")
    const content = script(
      "Remember the word PINEAPPLE and add a file.",
      { say: "Writing it.", tool: "write", path, content: "added\n" },
      { say: "All done." }
    )
    const first = await client.run({ session_id, content }).final()
    assert.strictEqual(first.turn.state, "succeeded", JSON.stringify(first.turn))
    assert.include(first.text, "All done.")
    const [changeset] = (await client.sessions.listChangesets({ session_id })).items
    const { diff } = await client.changesets.getDiff({ changeset_id: changeset?.id ?? "" })
    assert.include(diff, "+added")
    const asked = gateway.requests.filter(({ tools }) => tools.length > 0)
    assert.isTrue(asked.every(({ model }) => model === "scripted-1"))
    // It is kept for the next turn, until somebody wants it to go.
    await client.jobs.wait(await client.sessions.releaseExecutor({ session_id }))
    assert.deepStrictEqual(agentsIn(dataDir), [])
  })
}

/** All checks take minutes of an agent, so CI makes those of the work and of the capabilities. */
const volume = share(["--quick"], [])

const verified = async (dataDir: string, args: ReadonlyArray<string>) => {
  const { stderr, stdout } = await reinsAside(dataDir, ["harnesses", "verify", "--json", ...args])
  assert.isNotEmpty(stdout, stderr)
  return Schema.decodeUnknownSync(Report)(stdout)
}

const evidenceOf = (id: string) =>
  Effect.runPromise(
    Effect.flatMap(Manifests, ({ provenOf }) => provenOf(id)).pipe(
      Effect.provide(Manifests.layerIn({ enabled: optionalProviders }))
    )
  )

for (const provider_id of ["alpha", "beta", ...chosen]) {
  it(`${provider_id} still does all that its evidence says`, async () => {
    const { dataDir } = place
    const optional = chosen.find((id) => id === provider_id)
    if (optional === undefined) await makeInstallation(dataDir)
    else await enable(dataDir, optional)
    const { checks, proofs } = await verified(dataDir, [provider_id, ...volume])
    const before = (await evidenceOf(provider_id)).evidence?.checks.filter(({ passed }) => passed) ?? []
    const lost = checks.filter(({ check, passed }) => !passed && before.some((each) => each.check === check))
    assert.deepStrictEqual(lost, [])
    assert.deepStrictEqual(
      proofs.filter(({ shown }) => shown === "unproven"),
      []
    )
    const tried = new Set(checks.map(({ check }) => check))
    assert.isAtLeast(before.filter(({ check }) => tried.has(check)).length, share(7, before.length))
  })
}

it("an agent that claims what it cannot do is found out, and what is found is kept, shown and acted upon", async () => {
  const { dataDir, directory, gateway } = place
  await makeInstallation(dataDir)
  const goose = JSON.parse(JSON.stringify(await Effect.runPromise(readOptional("goose"))))
  // With another time to stop, it is an agent that nobody has tried.
  const stop = { ...goose.runtime.stop, sigterm_ms: 1234 }
  const capabilities = { ...goose.capabilities, steer: "supported" }
  const mine = { ...goose, provider_id: "mine", capabilities, runtime: { ...goose.runtime, stop } }
  const folder = join(directory, "agents")
  mkdirSync(folder)
  writeFileSync(join(folder, "mine.json"), JSON.stringify(mine))
  const own = ["--manifests", folder]
  assert.strictEqual(reins(dataDir, ["harnesses", "install", "mine", ...own]).status, 0)
  assert.match(
    reins(dataDir, ["harnesses", "list", ...own]).stdout,
    /\nmine .* 0\/\d+ +mine\.json +Linux on x64 with glibc\n/
  )

  const { proofs } = await verified(dataDir, ["mine", "--quick", ...own])
  const unproven = proofs.filter(({ shown }) => shown === "unproven").map(({ capability }) => capability)
  assert.deepStrictEqual(unproven, ["steer"])
  const doctor = reins(dataDir, ["doctor", ...own])
  assert.match(doctor.stdout, /\nwarn +mine +.*nothing has shown steer,.*\n +-> .*reins harnesses verify mine\n/)

  const server = await startServer({ dataDir, args: own, env: { REINS_ALLOW_LOCAL_REPOSITORIES: "on" } })
  const { at, workspaceId } = await newCaller(server, dataDir, gateway)
  const client = at(server)
  const entry = (await client.catalog.listHarnesses()).items.find((each) => each.provider_id === "mine")
  assert.deepInclude(entry?.capabilities, { steer: "unknown", native_resume: "supported" })
  assert.deepStrictEqual(entry?.proofs, proofs)
  assert.include(entry?.verified?.agent, "goose")
  const connection = await client.connections.create({
    workspace_id: workspaceId,
    kind: "gateway",
    label: "models",
    credential: { base_url: gateway.url, api_key: "gateway-key-canary-77", protocol: "openai_chat" }
  })
  const { id: session_id } = await client.sessions.create({
    workspace_id: workspaceId,
    connection_id: connection.id,
    harness: { provider_id: "mine", model: "scripted-1" }
  })
  const refused = await client.messages.send({ session_id, content: "Hold.", routing: "steer" }).catch((error) => error)
  assert.strictEqual(refused.code, "unsupported_capability")
})

it("the table that the command prints is the one of the documents", async () => {
  const { dataDir } = place
  await makeInstallation(dataDir)
  for (const id of optionalProviders) assert.strictEqual(reins(dataDir, ["harnesses", "enable", id]).status, 0)
  const { status, stderr, stdout } = reins(dataDir, ["harnesses", "verify", "--table"])
  assert.strictEqual(status, 0, stderr)
  process.stdout.write(stdout)
  assert.include(readFileSync(new URL("../../../../docs/agents.md", import.meta.url), "utf8"), stdout)
})
