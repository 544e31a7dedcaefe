import { assert, describe, it } from "@effect/vitest"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { withAgent } from "../test/execution/Agent.js"

describe("a session of codex", () => {
  it.scopedLive(
    "asks the gateway for the chosen model alone, also between its turns",
    () =>
      withAgent(
        "beta",
        ({ gateway, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const session = yield* (yield* Sessions).create(principal, workspaceId, {
              harness: { provider_id: "beta", model: "scripted-1" }
            })
            for (const name of ["one", "two"]) {
              const work = { tool: "bash", cmd: `sleep 1; echo ${name} > ${name}` }
              const turn = yield* runTurn(session.id, script(`Write ${name}.`, work, { say: "Done." }))
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
            }
            const asked = gateway.requests.filter(({ method }) => method === "POST")
            assert.deepStrictEqual(
              asked.map(({ model }) => model),
              asked.map(() => "scripted-1")
            )
          }),
        {},
        Manifests.layer
      ),
    180_000
  )
})
