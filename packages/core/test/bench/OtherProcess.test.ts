import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { sessionPaths } from "@reins/core/bench/SessionPaths"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/changes/Deliveries"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { benchIn } from "@reins/testing/bench/OtherProcess"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, temporaryDirectory, withAgent } from "../execution/Agent.js"

it.scopedLive(
  "a turn runs on a bench in another process, and the core opens no file of the session",
  () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const benchData = join(directory, "bench-data")
      const remote = makeRemote(directory)
      yield* withAgent(
        "alpha_gateway",
        ({ dataDir, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const session = yield* (yield* Sessions).create(principal, workspaceId, {
              repository: { url: remote.url }
            })
            const turn = yield* runTurn(
              session.id,
              script(
                "Mend the sum.",
                { tool: "write", path: "sum.js", content: "export const sum = (a, b) => a + b\n" },
                { say: "It adds now." }
              )
            )
            assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
            assert.isAbove(gateway.requests.length, 0)

            // The second turn goes on in the agent that the bench has kept.
            const second = yield* runTurn(session.id, script("Say it.", { say: "Again." }))
            assert.strictEqual(second.state, "succeeded", JSON.stringify(second))
            assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "It adds now.")

            const { content } = yield* (yield* SessionFiles).read(principal, session.id, "sum.js")
            assert.strictEqual(content, "export const sum = (a, b) => a + b\n")
            const ready = yield* eventsUntil(session.id, ({ type }) => type === "changeset.ready")
            const changesetId = ready.at(-1)?.changeset_id ?? ""
            const { diff } = yield* (yield* Changesets).diff(principal, changesetId, {})
            assert.include(diff, "+export const sum = (a, b) => a + b")

            yield* (yield* Deliveries).request(principal, changesetId, { target_ref: "mended" })
            yield* eventsUntil(session.id, ({ type }) => type === "delivery.succeeded")
            assert.include(remote.git("show", "mended:sum.js"), "a + b")

            // The bench has the files, and the core has locks and nothing else.
            const { gitDir, root, workTree } = sessionPaths(benchData, session.id)
            assert.include(readFileSync(join(workTree, "sum.js"), "utf8"), "a + b")
            assert.isTrue(existsSync(gitDir))
            const left = readdirSync(sessionPaths(dataDir, session.id).root)
            assert.deepStrictEqual(
              left.filter((name) => !/\.lock(?:\.holder)?$/.test(name)),
              []
            )
            assert.isFalse(root.startsWith(dataDir))
          }),
        {},
        smallAgents,
        undefined,
        benchIn(directory, benchData)
      )
    }),
  180_000
)
