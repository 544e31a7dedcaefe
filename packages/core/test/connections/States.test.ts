import { assert, layer as suite } from "@effect/vitest"
import type { ConnectionId } from "@reins/base/domain/Ids"
import { type ConnectionState, connectionStates } from "@reins/core/connections/Connection"
import { ConnectionStore } from "@reins/core/connections/ConnectionStore"
import { Connections } from "@reins/core/connections/Connections"
import {
  type ConnectionValidationState,
  connectionValidationStates
} from "@reins/core/connections/ConnectionValidation"
import { ValidationStore } from "@reins/core/connections/ValidationStore"
import { Validations } from "@reins/core/connections/Validations"
import * as Embedded from "@reins/core/Embedded"
import { Journal } from "@reins/core/store/Journal"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Effect, Runtime } from "effect"
import * as fc from "fast-check"
import { workAll } from "./ValidationRun.js"

const steps = ["enable", "disable", "replace", "validate", "work", "use", "disconnect"] as const
type Step = (typeof steps)[number]

interface Model {
  readonly state: ConnectionState
  readonly ordinal: number
  /** Newest first. */
  readonly validations: ReadonlyArray<{ readonly ordinal: number; readonly state: ConnectionValidationState }>
}

const supersede = (validations: Model["validations"]): Model["validations"] =>
  validations.map((each) =>
    connectionValidationStates.isTerminal(each.state) ? each : { ...each, state: "superseded" }
  )

const isLive = (model: Model): boolean =>
  model.validations.some((each) => each.ordinal === model.ordinal && !connectionValidationStates.isTerminal(each.state))

/** The effect of a step on a connection of the kind git; the code that it is refused with otherwise. */
const expected = (model: Model, step: Step): Model | string => {
  if (step === "work") {
    const end = (each: Model["validations"][number]) =>
      connectionValidationStates.isTerminal(each.state) ? each : { ...each, state: "inconclusive" as const }
    return { ...model, validations: model.validations.map(end) }
  }
  if (step === "use") return model
  if (model.state === "revoked") return "connection_revoked"
  switch (step) {
    case "enable":
      return { ...model, state: "active" }
    case "disable":
      return { ...model, state: "disabled" }
    case "replace":
      return { ...model, ordinal: model.ordinal + 1, validations: supersede(model.validations) }
    case "disconnect":
      return { ...model, state: "revoked", validations: supersede(model.validations) }
    case "validate":
      if (model.state === "disabled") return "connection_required"
      return isLive(model)
        ? model
        : { ...model, validations: [{ ordinal: model.ordinal, state: "queued" }, ...model.validations] }
  }
}

for (const database of databases) {
  suite(services(database.layer), { excludeTestServices: true })(`connection states on ${database.name}`, (it) => {
    it.effect(
      "whatever is done in whatever order, a connection and its validations move only as they may",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* Embedded.owner
          const connections = yield* Connections
          const store = yield* ConnectionStore
          const journal = yield* Journal
          const validations = yield* Validations
          const credential = { origin: "https://git.example", username: "me", password: "a secret of some length" }

          const take = Effect.fnUntraced(function* (step: Step, id: ConnectionId) {
            switch (step) {
              case "enable":
                return yield* Effect.asVoid(connections.update(principal, id, { state: "active" }))
              case "disable":
                return yield* Effect.asVoid(connections.update(principal, id, { state: "disabled" }))
              case "replace":
                return yield* connections
                  .replaceCredential(principal, id, { credential })
                  .pipe(Effect.asVoid, Effect.catchTag("RequestInvalid", Effect.die))
              case "validate":
                return yield* Effect.asVoid(validations.request(principal, id))
              case "work":
                return yield* Effect.orDie(workAll)
              case "disconnect":
                return yield* Effect.asVoid(connections.disconnect(principal, id))
              case "use": {
                const current = (yield* connections.get(principal, id)).credential
                if (current !== null) yield* journal.commit(store.observe(id, current.id, "degraded"))
              }
            }
          })

          const check = Effect.fnUntraced(function* (sequence: ReadonlyArray<Step>) {
            const input = { kind: "git", label: "test", credential } as const
            const { id } = yield* Effect.orDie(connections.create(principal, workspaceId, input))
            let model: Model = { state: "active", ordinal: 1, validations: [] }
            for (const step of sequence) {
              const before = yield* Effect.orDie(connections.get(principal, id))
              const next = expected(model, step)
              const result = yield* Effect.either(take(step, id))
              if (typeof next === "string") {
                assert.strictEqual(result._tag === "Left" ? result.left.code : "done", next, step)
              } else {
                assert.strictEqual(result._tag, "Right", step)
                model = next
              }
              const after = yield* Effect.orDie(connections.get(principal, id))
              assert.strictEqual(after.state, model.state)
              assert.strictEqual(after.credential?.ordinal, model.ordinal)
              assert.isTrue(before.state === after.state || connectionStates.allows(before.state, after.state))
              const { items } = yield* Effect.orDie(validations.list(principal, id, {}))
              assert.deepStrictEqual(
                items.map((each) => ({ ordinal: each.credential.ordinal, state: each.state })),
                model.validations.map((each) => ({ ...each }))
              )
              for (const each of items) {
                const ended = connectionValidationStates.isTerminal(each.state)
                assert.strictEqual(each.finished_at !== null, ended)
              }
            }
          })
          const runtime = yield* Effect.runtime<Effect.Effect.Context<ReturnType<typeof check>>>()
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(fc.array(fc.constantFrom(...steps), { maxLength: 12 }), (sequence) =>
                Runtime.runPromise(runtime)(check(sequence))
              ),
              { numRuns: walks.connections }
            )
          )
        }),
      60_000
    )

    it.effect("a validation that has ended never moves again", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* Embedded.owner
        const { id } = yield* (yield* Connections).create(principal, workspaceId, {
          kind: "git",
          label: "test",
          credential: { origin: "https://git.example", username: "me", password: "a secret of some length" }
        })
        const journal = yield* Journal
        const store = yield* ValidationStore
        const { validation } = yield* (yield* Validations).request(principal, id)
        yield* workAll
        const ended = yield* store.find(validation.id)
        for (const state of connectionValidationStates.states) {
          if (state === "queued") continue
          assert.isFalse(yield* journal.commit(store.move(validation.id, { state })))
        }
        assert.deepStrictEqual(yield* store.find(validation.id), ended)
      })
    )
  })
}
