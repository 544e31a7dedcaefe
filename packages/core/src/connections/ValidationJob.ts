import { fn } from "@reins/base/base/Traced"
import { type ConnectionId, ValidationId } from "@reins/base/domain/Ids"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect, Either } from "effect"
import type { Claim } from "../jobs/Claim.js"
import type { JobKind } from "../jobs/JobKind.js"
import { AccessTokens } from "./AccessTokens.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import { ConnectionStore, type UnreadableCredential } from "./ConnectionStore.js"
import type { OpenConnection } from "./OpenConnection.js"
import { ValidationStore } from "./ValidationStore.js"
import { validationJobKind } from "./Validations.js"
import { inconclusive, type Verdict } from "./Verdict.js"

const validationOf = (claim: Claim): ValidationId => ValidationId.make(claim.subject.id)

/** Carries out a validation. A lost attempt is made again, because a validation changes nothing outside. */
export const validationJob = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const kinds = yield* ConnectionKinds
  const outbound = yield* Outbound
  const store = yield* ValidationStore
  const tokens = yield* AccessTokens

  const verdictOn = (connection: OpenConnection): Effect.Effect<Verdict> => {
    const kind = kinds.find(connection.kind)
    const defaultBaseUrl = kinds.providerOf(connection.kind)?.credential?.default_base_url
    const freshToken = tokens.fresh(connection)
    return kind === undefined
      ? Effect.succeed(noKind)
      : kind.probe(connection, { outbound, defaultBaseUrl, freshToken })
  }
  /**
   * Ends the validation, in the commit that ends the attempt. A validation that was superseded meanwhile has ended already and stays as it is.
   */
  const settle = (id: ValidationId, connectionId: ConnectionId, verdict: Verdict) =>
    Effect.gen(function* () {
      // Everything that supersedes a validation locks the connection first. The same order here avoids a deadlock.
      yield* connections.hold(connectionId)
      const validation = yield* store.find(id)
      const ended = yield* store.move(id, {
        state: verdict.state,
        observations: verdict.observations,
        ...(verdict.privateEmail && { privateEmail: verdict.privateEmail }),
        ...(verdict.reason && { reason: verdict.reason }),
        ...(verdict.message && { reasonMessage: verdict.message })
      })
      if (ended && validation !== undefined) {
        yield* connections.observe(connectionId, validation.credential.id, verdict.health)
      }
    })

  return {
    kind: validationJobKind,
    concurrency: 4,
    deadlineMs: 2 * 60_000,
    run: fn("validationJob.run")(function* (attempt) {
      const id = validationOf(attempt.claim)
      const validation = yield* attempt.commit(
        Effect.gen(function* () {
          const found = yield* store.find(id)
          if (found === undefined) return undefined
          yield* connections.hold(found.connection_id)
          const runs = found.state === "running" || (yield* store.move(id, { state: "running" }))
          if (runs) yield* connections.observe(found.connection_id, found.credential.id, "verifying")
          return runs ? found : undefined
        })
      )
      // The validation was superseded before it began.
      if (validation === undefined) return { state: "cancelled" as const, command: Effect.void }
      const opened = yield* Effect.either(connections.openVersion(validation.connection_id, validation.credential.id))
      const verdict = Either.isLeft(opened) ? unreadable(opened.left) : yield* verdictOn(opened.right)
      return { state: "succeeded" as const, command: settle(id, validation.connection_id, verdict) }
    }),
    failed: fn("validationJob.failed")(function* (claim, failure) {
      const validation = yield* store.find(claim.subject.id)
      if (validation === undefined) return
      if (validation.state === "queued") yield* store.move(validation.id, { state: "running" })
      yield* settle(validation.id, validation.connection_id, {
        state: "inconclusive",
        health: "unverified",
        reason: failure.code === "timeout" ? "timeout" : "upstream_error",
        message: `${failure.message} Validate again.`,
        observations: []
      })
    }),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

const noKind = inconclusive(
  "no_endpoint",
  "unverified",
  "This installation has no connections of that kind any more. Create one of another kind."
)

const unreadable = ({ message }: UnreadableCredential): Verdict => ({
  state: "failed",
  health: "reauth_required",
  reason: "credential_unreadable",
  message,
  observations: []
})
