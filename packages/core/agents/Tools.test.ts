import { assert, describe, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Sessions } from "@reins/core/sessions/Sessions"
import { CallLedger } from "@reins/core/tools/CallLedger"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, makeRemote, withAgent } from "../test/execution/Agent.js"

const kinds = { alpha: "alpha_gateway", beta: "beta" } as const

const schema = { type: "object", properties: { lines: { type: "integer" } }, required: ["lines"] }

const instructions = script(
  "Write the file.",
  { tool: "write", path: "child.txt", content: "from the child\n" },
  { tool: "submit_result", args: { value: { lines: "one" }, summary: "One line." } },
  { tool: "submit_result", args: { value: { lines: 1 }, summary: "One line." } },
  { say: "It is there." }
)

for (const executor of ["local", "bubblewrap"] as const)
  for (const [parent, child] of [
    ["alpha", "beta"],
    ["beta", "alpha"]
  ] as const)
    describe(`tools in ${executor}`, () => {
      it.scopedLive(
        `${parent} delegates to ${child}, which mends its result, waits for it and reads its changes`,
        () =>
          withAgent(
            kinds[parent],
            ({ directory, gateway, principal, runTurn, workspaceId }) =>
              Effect.gen(function* () {
                const connections = yield* Connections
                const connection = yield* connections.create(principal, workspaceId, {
                  kind: kinds[child],
                  label: "of the child",
                  credential: { base_url: gateway.url, api_key: canary }
                })
                yield* connections.update(principal, connection.id, { preferred_model: "scripted-1" })
                const session = yield* (yield* Sessions).create(principal, workspaceId, {
                  repository: { url: makeRemote(directory).url },
                  harness: { provider_id: parent }
                })
                const turn = yield* runTurn(
                  session.id,
                  script(
                    "Split this up.",
                    {
                      tool: "delegate",
                      args: { name: "writer", instructions, provider: child, result_schema: schema }
                    },
                    { tool: "wait", args: { delegation_ids: ["writer"], for: "all", seconds: 80 } },
                    { tool: "read_diff", args: { delegation_id: "writer" } },
                    { tool: "write", path: "parent.txt", content: "from the parent\n" },
                    { say: "Done." }
                  )
                )
                assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
                const { items } = yield* (yield* Delegations).list(principal, session.id, {})
                assert.deepStrictEqual(
                  items.map(({ role, state }) => [role, state]),
                  [["writer", "succeeded"]]
                )
                const results = gateway.requests.flatMap(({ messages }) =>
                  messages.filter(({ role }) => role === "tool_result").map(({ text }) => text)
                )
                assert.isTrue(results.some((text) => text.includes("+from the child")))
                assert.isTrue(results.some((text) => text.includes("Input must be integer")))
                const calls = yield* (yield* CallLedger).list(turn.id, {})
                assert.deepStrictEqual(
                  calls.items.map(({ state, tool }) => `${tool} ${state}`),
                  ["read_diff succeeded", "wait succeeded", "delegate succeeded"]
                )
                const [changeset] = (yield* (yield* Changesets).list(principal, session.id, {})).items
                assert.deepStrictEqual(
                  changeset?.files.map(({ path }) => path),
                  ["parent.txt"]
                )
              }),
            { executors: [executor] },
            Manifests.layer
          ),
        240_000
      )
    })
