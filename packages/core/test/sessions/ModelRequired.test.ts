import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Connections } from "@reins/core/connections/Connections"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const codeOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof ReinsError ? error.code : error))

for (const { layer, name } of flowDatabases) {
  describe(`a provider that runs with a model, on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      const modelless = Effect.gen(function* () {
        const { connection, principal, workspaceId } = yield* ownerWithConnection
        yield* (yield* Connections).update(principal, connection.id, { preferred_model: null })
        return { connection, principal, workspaceId }
      })

      it.effect("refuses a session whose first message has no model, and leaves nothing of it", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* modelless
          const sessions = yield* Sessions
          const before = (yield* sessions.list(principal, workspaceId, {})).items.length
          const refused = yield* Effect.flip(sessions.create(principal, workspaceId, { message: "Begin" }))
          assert.instanceOf(refused, ReinsError)
          assert.deepInclude(refused, { code: "model_required", status: 409, retryable: false })
          assert.match(refused.message, /harness\.model.*preferred_model.*GET \/api\/models/)
          assert.lengthOf((yield* sessions.list(principal, workspaceId, {})).items, before)
          const named = { message: "Begin", harness: { provider_id: "alpha", model: "m" } }
          assert.strictEqual((yield* sessions.create(principal, workspaceId, named)).activity, "queued")
        })
      )

      it.effect("refuses a message and a delegation until a model is chosen, but no note", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* modelless
          const sessions = yield* Sessions
          const messages = yield* Messages
          const { actions, id } = yield* sessions.create(principal, workspaceId, {})
          assert.notInclude(actions, "send_message")
          const send = messages.send(principal, id, { content: "Go on" })
          assert.strictEqual(yield* codeOf(send), "model_required")
          const child = (yield* Delegations).spawn(principal, id, { role: "scout", instructions: "Look." })
          assert.strictEqual(yield* codeOf(child), "model_required")
          yield* messages.send(principal, id, { content: "For readers", routing: "note" })
          const chosen = yield* sessions.update(principal, id, { model: "m" })
          assert.include(chosen.actions, "send_message")
          const { turn_id } = yield* send
          assert.strictEqual((yield* (yield* Turns).get(principal, turn_id ?? "")).settings.model, "m")
          assert.strictEqual((yield* child).delegation.state, "pending")
        })
      )

      it.effect("takes the model that the connection prefers, and beta needs none without a connection", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const preferred = yield* sessions.create(principal, workspaceId, { message: "Begin" })
          assert.strictEqual(preferred.harness.model, "scripted-1")
          const beta = { message: "Begin", harness: { provider_id: "beta" } }
          assert.strictEqual((yield* sessions.create(principal, workspaceId, beta)).harness.model, null)
          yield* (yield* Connections).create(principal, workspaceId, {
            kind: "beta",
            label: "beta",
            credential: { api_key: "k".repeat(32) }
          })
          assert.strictEqual(yield* codeOf(sessions.create(principal, workspaceId, beta)), "model_required")
        })
      )
    })
  })
}
