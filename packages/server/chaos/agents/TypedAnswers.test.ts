import type { Reins } from "@reins/client"
import { type OptionalProvider, optionalProviders } from "@reins/machine/harness/OptionalManifests"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForEachTest } from "@reins/testing/process/Place"
import { makeInstallation, startServer } from "@reins/testing/process/ServerProcess"
import { share } from "@reins/testing/Volume"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { enable, protocolOf } from "./Optional.js"

const place = placeForEachTest(inHome)

const isOptional = (id: string): id is OptionalProvider => optionalProviders.some((known) => known === id)

/** A soak asks all agents. */
const chosen = process.env["REINS_AGENTS"]?.split(",") ?? share(["alpha"], ["alpha", "beta", ...optionalProviders])

const result_schema = { type: "object", properties: { lines: { type: "integer" } }, required: ["lines"] }

const submit = (lines: unknown) => ({
  tool: "submit_result",
  args: { value: { lines }, summary: "Counted." }
})

/** An agent without tools says the result in its last words. */
const say = (lines: unknown) => ({ say: `Counted.\n\n\`\`\`json\n${JSON.stringify({ lines })}\n\`\`\`\n` })

/** Agents that hold a call against the schema of its tool themselves. A call that does not fit goes back to their model, and never reaches the service. */
const checking: ReadonlyArray<string> = ["gemini", "qwen"]

/** The reasons of a turn whose agent gives wrong results for ever, where it is another one. Qwen Code stops a model that calls again and again. */
const reasonOf: Readonly<Record<string, string>> = { gemini: "result_missing", qwen: "upstream_error" }

/** Sends the task, and gives the end of its turn with the results that the agent tried. */
const ask = async (client: Reins, session_id: string, ...steps: ReadonlyArray<object>) => {
  const { turn_id = "" } = await client.messages.send({
    session_id,
    content: script("Count the lines.", ...steps),
    result_schema
  })
  const { reason, result, state } = await client.turns.wait({ turn_id })
  return [state, reason, result?.value ?? null, result?.tries ?? null]
}

for (const provider_id of chosen) {
  it(`${provider_id} gives a result of a shape, mends one, and says when it has none`, async () => {
    const { dataDir, gateway } = place
    const isOff = isOptional(provider_id)
    if (isOff) await enable(dataDir, provider_id)
    else await makeInstallation(dataDir)
    const server = await startServer({ dataDir })
    const { at, workspaceId: workspace_id } = await newCaller(server, dataDir, gateway)
    const client = at(server)
    if (isOff) {
      const protocol = await protocolOf(provider_id)
      const base_url = protocol === "gemini" ? gateway.geminiUrl : gateway.url
      const credential = { base_url, api_key: "gateway-key-canary-79", protocol }
      await client.connections.create({ workspace_id, kind: "gateway", label: "models", credential })
    }
    const harness = { provider_id, model: "scripted-1" }
    const { id: session_id } = await client.sessions.create({ workspace_id, harness })
    const fails = (reason: string) => ["failed", reason, null, null]
    if (provider_id === "cline") {
      assert.deepStrictEqual(await ask(client, session_id, say(7)), ["succeeded", null, { lines: 7 }, 1])
      assert.deepStrictEqual(await ask(client, session_id, say("seven")), fails("result_invalid"))
      assert.deepStrictEqual(await ask(client, session_id, { say: "I did not count." }), fails("result_missing"))
      return
    }
    const right = await ask(client, session_id, submit(7), { say: "Done." })
    assert.deepStrictEqual(right, ["succeeded", null, { lines: 7 }, 1])
    const mended = await ask(client, session_id, submit("seven"), submit(7), { say: "Done." })
    const checksItself = checking.includes(provider_id)
    assert.deepStrictEqual(mended, ["succeeded", null, { lines: 7 }, checksItself ? 1 : 2])
    const wrong = Array.from({ length: 6 }, (_, at) => submit(`seven ${at}`))
    assert.deepStrictEqual(
      await ask(client, session_id, ...wrong, { say: "Enough." }),
      fails(reasonOf[provider_id] ?? "result_invalid")
    )
    assert.deepStrictEqual(await ask(client, session_id, { say: "I forgot it." }), fails("result_missing"))
  })
}
