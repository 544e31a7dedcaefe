import { assert, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, makeRemote, say, withAgent } from "../execution/Agent.js"

it.scopedLive(
  "a message becomes a turn of the agent, a sealed changeset and a pushed branch",
  () =>
    withAgent("alpha_gateway", ({ directory, eventsUntil, principal, workspaceId }) =>
      Effect.gen(function* () {
        const remote = makeRemote(directory)
        const project = yield* (yield* Projects).create(principal, workspaceId, {
          slug: "sum",
          name: "Sum",
          spec: { repository: { url: remote.url } }
        })
        const session = yield* (yield* Sessions).create(principal, workspaceId, {
          project_id: project.id,
          title: "Fix the sum"
        })
        const sent = yield* (yield* Messages).send(principal, session.id, {
          content: script(
            "Fix the sum.",
            {
              think: "It subtracts.",
              say: "I write the fix.",
              tool: "write",
              path: "sum.js",
              content: "export const sum = (a, b) => a + b\n"
            },
            { say: "Fixed." }
          )
        })
        const events = yield* eventsUntil(session.id, isTurnEnd)
        const turn = yield* (yield* Turns).get(principal, sent.turn_id ?? "")
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
        assert.isAbove(turn.usage.input_tokens ?? 0, 0)
        assert.deepStrictEqual(
          events.map((event) => event.seq),
          events.map((_, index) => index + 1)
        )
        for (const type of [
          "message.part_added",
          "tool.started",
          "tool.completed",
          "usage.observed",
          "message.completed",
          "changeset.ready"
        ]) {
          assert.include(
            events.map((event) => event.type),
            type
          )
        }
        const answer = (yield* (yield* Messages).list(principal, session.id, {})).items.at(-1)
        assert.deepStrictEqual(
          answer?.content.map((block) => block.type === "text" && block.text.trim()),
          ["I write the fix.", "Fixed."]
        )

        const changesets = yield* Changesets
        const [changeset] = (yield* changesets.list(principal, session.id, {})).items
        assert.deepStrictEqual(
          changeset?.files.map((file) => [file.path, file.status]),
          [["sum.js", "modified"]]
        )
        assert.match(changeset?.subject_digest ?? "", /^sha256:[0-9a-f]{64}$/)
        assert.include(
          (yield* changesets.diff(principal, changeset?.id ?? "", {})).diff,
          "+export const sum = (a, b) => a + b"
        )

        const deliveries = yield* Deliveries
        const requested = yield* deliveries.request(principal, changeset?.id ?? "", {})
        const again = yield* deliveries.request(principal, changeset?.id ?? "", {})
        assert.strictEqual(again.delivery.id, requested.delivery.id)
        const end = (yield* eventsUntil(session.id, (event) =>
          /^delivery\.(succeeded|failed|blocked)$/.test(event.type)
        )).at(-1)
        assert.strictEqual(end?.type, "delivery.succeeded", JSON.stringify(end))
        const delivery = yield* deliveries.get(principal, requested.delivery.id)
        assert.deepStrictEqual(
          delivery.steps.map((step) => [step.kind, step.outcome]),
          [
            ["materialize", "succeeded"],
            ["push", "succeeded"],
            ["observe", "succeeded"]
          ]
        )
        assert.strictEqual(delivery.target_ref, `reins/${session.id}/${changeset?.id}`)
        assert.include(remote.git("show", `${delivery.target_ref}:sum.js`), "a + b")
        const operation = yield* (yield* Jobs).operation(principal, requested.operation.id)
        assert.deepStrictEqual(
          operation.jobs.map((job) => [job.state, job.attempts.length]),
          [["succeeded", 1]]
        )
      })
    ),
  120_000
)

it.scopedLive(
  "the second turn of a session resumes what the agent knows, and a new session knows nothing of it",
  () =>
    withAgent("alpha_gateway", ({ gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const session = yield* sessions.create(principal, workspaceId, {})
        yield* runTurn(session.id, say("The password of the day is tangerine."))
        const second = yield* runTurn(session.id, say("I remember."))
        assert.strictEqual(second.state, "succeeded", JSON.stringify(second))
        const seen = gateway.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.isTrue(
          seen?.messages.some((message) => message.role === "assistant" && message.text.includes("tangerine"))
        )
        const other = yield* sessions.create(principal, workspaceId, {})
        yield* runTurn(other.id, say("Hello."))
        const fresh = gateway.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.isFalse(fresh?.messages.some((message) => message.text.includes("tangerine")))
      })
    ),
  120_000
)
