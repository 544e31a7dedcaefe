import { assert, describe, it } from "@effect/vitest"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import { Projects } from "@reins/core/projects/Projects"
import { SessionLifecycles } from "@reins/core/sessions/creation/SessionLifecycles"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Journal } from "@reins/core/store/Journal"
import { system } from "@reins/testing/changes/Fixture"
import { Effect, Redacted } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { withAgent } from "./Agent.js"

describe("what a project says of its agents", () => {
  it.scopedLive("a turn has the time that the limits leave it, and sessions that come of it have them too", () =>
    withAgent("alpha_gateway", ({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, {
          executor: { backend: "local", limits: { turn_seconds: 1 } }
        })
        const turn = yield* runTurn(id, script("Wait.", { tool: "bash", cmd: "sleep 60" }, { say: "Done." }))
        assert.deepStrictEqual([turn.state, turn.reason], ["failed", "timeout"])
        const row = yield* (yield* SessionStore).find(id)
        if (row === undefined) return assert.fail("the session is there")
        const lifecycles = yield* SessionLifecycles
        const linked = yield* (yield* Journal).commit(
          lifecycles.link(row, system, {
            kind: "harness_switch",
            harness: { provider_id: "alpha" },
            connectionId: undefined,
            seed: null
          })
        )
        const { limits } = yield* (yield* SessionExecutors).get(principal, linked.id)
        assert.deepStrictEqual(limits, { turn_seconds: 1 })
      })
    )
  )

  it.scopedLive("a variable that the provider sets itself fails the turn, and another value starts another agent", () =>
    withAgent("alpha_gateway", ({ eventsUntil, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const projects = yield* Projects
        const begin = Effect.fnUntraced(function* (slug: string, name: string) {
          const spec = { environment: [{ name, secret: "key" }] }
          const project = yield* projects.create(principal, workspaceId, { slug, name: slug, spec })
          const give = (text: string) =>
            Effect.flatMap(ProjectSecrets, (secrets) => secrets.put(principal, project.id, "key", Redacted.make(text)))
          yield* give("first-value")
          return {
            give,
            session: (yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })).id
          }
        })
        const taken = yield* begin("taken", "MODEL")
        const refused = yield* runTurn(taken.session, script("Work.", { say: "Done." }))
        assert.strictEqual(refused.state, "failed")
        assert.include(refused.reason_message ?? "", "environment has MODEL, which alpha sets itself")

        const { give, session } = yield* begin("own", "OWN_KEY")
        const look = script("Look.", { tool: "bash", cmd: 'printf %s "$OWN_KEY" | wc -c' }, { say: "Done." })
        const lengths = Effect.map(
          eventsUntil(session, ({ type }) => type === "changeset.ready"),
          (events) => JSON.stringify(events.filter(({ type }) => type === "tool.completed"))
        )
        assert.strictEqual((yield* runTurn(session, look)).state, "succeeded")
        assert.include(yield* lengths, "11")
        yield* give("another-value")
        const second = yield* runTurn(session, look)
        const events = yield* eventsUntil(
          session,
          (event) => event.turn_id === second.id && event.type === "turn.succeeded"
        )
        const said = events.filter((event) => event.turn_id === second.id && event.type === "tool.completed")
        assert.include(JSON.stringify(said), "13")
      })
    )
  )
})
