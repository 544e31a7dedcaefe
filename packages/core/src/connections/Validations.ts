import { Context, Effect, Layer } from "effect"
import type { ValidationAnswer } from "../api/ConnectionsApi.js"
import { fn } from "../base/Traced.js"
import type { ConnectionCapabilities, ConnectionValidation } from "../domain/ConnectionValidation.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import type { ReinsError } from "../domain/ReinsError.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import { Connections } from "./Connections.js"
import { ValidationStore } from "./ValidationStore.js"

export const validationJobKind = "connection.validate"

/** Checks of the current credential of a connection, and what they have observed of it. */
export class Validations extends Context.Tag("@reins/core/connections/Validations")<
  Validations,
  {
    /** Newest first. */
    readonly list: (
      principal: Principal,
      connectionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<ConnectionValidation>, ReinsError<"not_found" | "invalid_cursor">>
    /**
     * Checks the current credential version; a check of it that has not ended is given back. Fails with `connection_revoked`, and
     * with `connection_required` for a disabled connection.
     */
    readonly request: (
      principal: Principal,
      connectionId: string
    ) => Command<ValidationAnswer, ReinsError<"not_found" | "forbidden" | "connection_required" | "connection_revoked">>
    /** The capabilities that the newest telling check of the current credential version saw. All others are `unknown`. */
    readonly capabilities: (
      principal: Principal,
      connectionId: string
    ) => Effect.Effect<ConnectionCapabilities, ReinsError<"not_found">>
  }
>() {
  static readonly layer = Layer.effect(
    Validations,
    Effect.gen(function* () {
      const journal = yield* Journal
      const jobs = yield* JobStore
      const connections = yield* Connections
      const kinds = yield* ConnectionKinds
      const store = yield* ValidationStore

      return Validations.of({
        list: fn("Validations.list")(function* (principal, connectionId, page) {
          const connection = yield* connections.get(principal, connectionId)
          return yield* store.list(connection.id, page)
        }),
        request: (principal, connectionId) =>
          journal.command(
            "Validations.request",
            Effect.gen(function* () {
              const { credentialId, id, workspaceId } = yield* connections.usable(principal, connectionId)
              const known = yield* store.findLive(credentialId)
              if (known !== undefined) return { operation: yield* jobs.newestOf(known.id), validation: known }
              const validation = yield* store.create(id, credentialId)
              const operation = yield* jobs.enqueue({
                kind: validationJobKind,
                subject: { type: "validation", id: validation.id },
                workspaceId,
                payload: {},
                maxAttempts: 3
              })
              return { operation, validation }
            })
          ),
        capabilities: fn("Validations.capabilities")(function* (principal, connectionId) {
          const { credential, id, kind } = yield* connections.get(principal, connectionId)
          const observed = credential === null ? undefined : yield* store.findObserved(credential.id)
          return {
            connection_id: id,
            provider_id: kinds.providerOf(kind)?.provider_id ?? null,
            items: (kinds.find(kind)?.capabilities ?? []).map(
              (capability) =>
                observed?.observations.find((observation) => observation.capability === capability) ?? {
                  capability,
                  value: "unknown" as const,
                  evidence: null,
                  observed_at: null
                }
            )
          }
        })
      })
    })
  )
}
