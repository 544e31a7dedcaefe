import { join } from "node:path"
import { SessionId } from "@reins/core/domain/Ids"
import { type OptionalProvider, optionalProviders } from "@reins/core/harness/OptionalManifests"
import { sessionPaths } from "@reins/core/sessions/SessionPaths"
import { agentsIn } from "@reins/testing/executor/Processes"
import { bareRemote } from "@reins/testing/git/Fixture"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { reins, startServer } from "@reins/testing/process/ServerProcess"
import { share } from "@reins/testing/Volume"
import { Schema } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { enable, protocolOf } from "./Optional.js"

const place = placeForEachTest(inHome)

const Report = Schema.parseJson(
  Schema.Struct({
    checks: Schema.Array(Schema.Struct({ check: Schema.String, passed: Schema.Boolean, evidence: Schema.String }))
  })
)

/** Two that start soon; a soak installs and runs all of them. */
const chosen = (process.env["REINS_AGENTS"]?.split(",") ?? share(["goose", "gemini"], optionalProviders)).filter(
  (id): id is OptionalProvider => optionalProviders.some((known) => known === id)
)

for (const provider_id of chosen) {
  it(`${provider_id} is enabled, installed, and works to a changeset through a gateway connection`, async () => {
    const { dataDir, directory, gateway } = place
    enable(dataDir, provider_id)
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
    const path = join(sessionPaths(dataDir, SessionId.make(session_id)).workTree, "added.txt")
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

/** The checks of `reins harnesses verify` that need nothing of an agent but that it works. */
const always = ["work", "events", "model", "cancel"]

for (const provider_id of ["alpha", "beta", ...chosen]) {
  it(`${provider_id} passes the checks of reins harnesses verify that every agent has to`, () => {
    const { dataDir } = place
    const optional = chosen.find((id) => id === provider_id)
    if (optional !== undefined) enable(dataDir, optional)
    const { stderr, stdout } = reins(dataDir, ["harnesses", "verify", provider_id, "--json"])
    assert.isNotEmpty(stdout, stderr)
    const { checks } = Schema.decodeUnknownSync(Report)(stdout)
    const failed = checks.filter(({ check, passed }) => always.includes(check) && !passed)
    assert.deepStrictEqual(failed, [])
    assert.includeMembers(
      checks.map(({ check }) => check),
      always
    )
  })
}
