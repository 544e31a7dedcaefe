import { assert, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Waits } from "@reins/core/delegations/Waits"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, makeRemote, withAgent } from "../execution/Agent.js"

const bySum = "export const sum = (a, b) => a + b\n"

it.scopedLive(
  "a child works on the changeset that it was given, its words become the result, and the session that waits is woken",
  () =>
    withAgent("alpha_gateway", ({ directory, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const remote = makeRemote(directory)
        const parent = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url: remote.url } })
        const writing = [{ tool: "write", path: "sum.js", content: bySum }, { say: "Fixed." }]
        const written = yield* runTurn(parent.id, script("Fix the sum.", ...writing))
        assert.strictEqual(written.state, "succeeded", JSON.stringify(written))
        const changesets = yield* Changesets
        const [given] = (yield* changesets.list(principal, parent.id, {})).items

        const { delegation } = yield* (yield* Delegations).spawn(principal, parent.id, {
          role: "tester",
          instructions: script(
            "Test the sum.",
            { say: "I run it.", tool: "bash", cmd: "node sum.test.js && echo tested > proof.txt" },
            { say: "The sum is right." }
          ),
          ...(given !== undefined && { changeset_id: given.id })
        })
        const waits = yield* Waits
        const asked = yield* waits.wait(principal, delegation.id, { timeout_seconds: 0, wake: "message" })
        assert.strictEqual(asked.wait.state, "pending")
        const { delegation: ended, result, wait } = yield* waits.wait(principal, delegation.id, { timeout_seconds: 60 })
        assert.deepStrictEqual([wait.state, ended.state], ["satisfied", "succeeded"], JSON.stringify(ended))
        assert.deepStrictEqual(result, yield* (yield* DelegationResults).get(principal, delegation.id))
        assert.deepInclude(result, { kind: "generic", summary: "The sum is right." })

        const child = yield* (yield* Sessions).get(principal, delegation.child_session_id)
        const base = (yield* (yield* Sessions).get(principal, parent.id)).base
        assert.deepStrictEqual(child.base, base)
        const changed = yield* changesets.get(principal, result?.changeset_id ?? "")
        assert.strictEqual(changed.session_id, child.id)
        assert.deepStrictEqual(
          changed.files.map((file) => [file.path, file.status]),
          [
            ["proof.txt", "added"],
            ["sum.js", "modified"]
          ]
        )

        const woken = yield* eventsUntil(
          parent.id,
          (event) => isTurnEnd(event) && event.turn_id !== undefined && event.turn_id !== written.id
        )
        assert.strictEqual(woken.at(-1)?.type, "turn.succeeded", JSON.stringify(woken.at(-1)))
        const { items } = yield* (yield* Messages).list(principal, parent.id, {})
        const [message, ...others] = items.filter(({ role }) => role === "system")
        assert.isEmpty(others)
        assert.strictEqual(message?.turn_id, woken.at(-1)?.turn_id)
        const seen = gateway.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.isTrue(
          seen?.messages.some(({ text }) => text.includes(delegation.id) && text.includes("The sum is right."))
        )
      })
    ),
  180_000
)
