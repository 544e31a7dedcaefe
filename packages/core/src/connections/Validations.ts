import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import { ProvedAddresses } from "../identity/ProvedAddresses.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import type { Inactive } from "./ConnectionStore.js"
import { Connections } from "./Connections.js"
import type { ValidationAnswer } from "./ConnectionsApi.js"
import type { ConnectionCapabilities, ConnectionValidation } from "./ConnectionValidation.js"
import { ValidationStore } from "./ValidationStore.js"

export const validationJobKind = "connection.validate"

/** Validations of the current credential of a connection, and the capabilities that they have observed. */
export class Validations extends Context.Tag("@reins/core/connections/Validations")<
  Validations,
  {
    /** The validations of a connection, newest first. Fails with `not_found` and `invalid_cursor`. */
    readonly list: (
      principal: Principal,
      connectionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<ConnectionValidation>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Requests a validation of the current credential version. When one is queued or running, it is given back instead. Fails with
     * `connection_revoked`, and with `connection_required` for a disabled connection.
     */
    readonly request: (principal: Principal, connectionId: string) => Command<ValidationAnswer, Denied | Inactive>
    /**
     * The capabilities that the newest validation of the current credential version observed. A capability that it did not observe is
     * `unknown`.
     */
    readonly capabilities: (principal: Principal, connectionId: string) => Effect.Effect<ConnectionCapabilities, Unseen>
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
      yield* (yield* ProvedAddresses).register({ addressesOf: store.privateEmails })

      return Validations.of({
        list: fn("Validations.list")(function* (principal, connectionId, page) {
          const connection = yield* connections.get(principal, connectionId)
          return yield* store.list(connection.id, page)
        }),
        request: (principal, connectionId) =>
          journal.command(
            "Validations.request",
            { by: principal, about: { type: "connection", id: connectionId } },
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
