import { assert, it } from "@effect/vitest"
import { Models } from "@reins/core/catalog/Models"
import { Connections } from "@reins/core/connections/Connections"
import { connectionValidationStates } from "@reins/core/connections/ConnectionValidation"
import { Validations } from "@reins/core/connections/Validations"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Effect, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, isTurnEnd, say, withAgent } from "../execution/Agent.js"

it.scopedLive(
  "a turn tells the health of the connection that it ran with, and a validation by the worker agrees",
  () =>
    withAgent("alpha_gateway", ({ connectionId, principal, runTurn, workspaceId, gateway }) =>
      Effect.gen(function* () {
        const connections = yield* Connections
        const health = Effect.map(connections.get(principal, connectionId), (connection) => connection.health)
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        assert.strictEqual(yield* health, "unverified")
        assert.strictEqual((yield* runTurn(session.id, say("Hello."))).state, "succeeded")
        assert.strictEqual(yield* health, "ready")

        const models = yield* (yield* Models).list(principal, { provider_id: "alpha" })
        assert.include(
          models.items.map(({ id }) => id),
          "scripted-1"
        )

        const credential = { base_url: gateway.url, api_key: `not-${canary}` }
        yield* connections.replaceCredential(principal, connectionId, { credential })
        assert.strictEqual(yield* health, "unverified")
        const failed = yield* runTurn(session.id, say("Hello again."))
        assert.strictEqual(failed.reason, "credential_invalid", JSON.stringify(failed))
        assert.strictEqual(yield* health, "reauth_required")

        yield* connections.replaceCredential(principal, connectionId, {
          credential: { ...credential, api_key: canary }
        })
        const validations = yield* Validations
        yield* validations.request(principal, connectionId)
        const ended = yield* Effect.repeat(
          Effect.map(validations.list(principal, connectionId, {}), ({ items }) => items[0]),
          {
            schedule: Schedule.spaced("20 millis"),
            until: (validation) => validation !== undefined && connectionValidationStates.isTerminal(validation.state)
          }
        )
        assert.isDefined(ended)
        assert.strictEqual(yield* health, "ready")
      })
    ),
  120_000
)

it.scopedLive(
  "a turn with a private gateway that the operator has not allowed fails and says how it is allowed",
  () =>
    withAgent(
      "alpha_gateway",
      ({ gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const turn = yield* runTurn(session.id, say("Hello."))
          assert.strictEqual(turn.state, "failed")
          assert.strictEqual(turn.reason, "upstream_error", JSON.stringify(turn))
          assert.include(turn.reason_message, "REINS_ALLOW_PRIVATE_HOSTS=127.0.0.1")
          assert.lengthOf(gateway.requests, 0)
        }),
      { allowPrivateHosts: [] }
    ),
  120_000
)

it.scopedLive("a connection is not revoked while a turn runs with it, and says which", () =>
  withAgent("alpha_gateway", ({ connectionId, eventsUntil, principal, workspaceId }) =>
    Effect.gen(function* () {
      const connections = yield* Connections
      const { id, turn_id: turnId } = yield* (yield* Sessions).create(principal, workspaceId, {
        message: script("Wait.", { say: "Waiting.", hang: true })
      })
      yield* eventsUntil(id, ({ type }) => type === "turn.started")
      const error = yield* Effect.flip(connections.disconnect(principal, connectionId))
      assert.deepInclude({ ...error }, { code: "connection_in_use", details: { turn_id: turnId ?? "" } })
      yield* (yield* Turns).cancel(principal, turnId ?? "")
      yield* eventsUntil(id, isTurnEnd)
      assert.strictEqual((yield* connections.disconnect(principal, connectionId)).state, "revoked")
    })
  )
)
