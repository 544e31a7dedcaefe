import type { CommitEar } from "@reins/machine/bench/Changes"
import { Effect, Redacted } from "effect"
import { type AttemptLost, JobError } from "../../jobs/JobKind.js"
import { DeliveryStore } from "../DeliveryStore.js"
import { signingKeyStore } from "../signing/SigningKeyStore.js"
import { type DeliveryAttempt, deliverySteps } from "./DeliverySteps.js"

/**
 * Gives the function that finds the signature of a delivery's commit: none, or an ear that signs with the key of the delivery. A key that is gone
 * gives way to the newest one of the workspace. Without one, the delivery is blocked.
 */
export const makeSigning = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const keys = yield* signingKeyStore
  const steps = yield* deliverySteps

  return Effect.fnUntraced(function* (work: DeliveryAttempt): Effect.fn.Return<CommitEar, JobError | AttemptLost> {
    const { delivery, session } = work
    if (!delivery.signs) return unsigned
    const chosen = delivery.key_id === null ? undefined : yield* keys.open(delivery.key_id)
    const newest = chosen === undefined ? yield* keys.newest(session.workspace_id) : null
    const key = chosen ?? (newest === null ? undefined : yield* keys.open(newest))
    if (key === undefined) {
      yield* steps.failed(work, "materialize", { kind: noKey.code, message: noKey.message })
      return yield* noKey
    }
    if (newest !== null) yield* work.attempt.commit(deliveries.signWith(delivery.id, newest))
    // Loaded with the first signature.
    const { sshSignature } = yield* Effect.promise(() => import("../signing/SshSignature.js"))
    return { sign: (content) => Effect.sync(() => sshSignature(Redacted.value(key), content)) }
  })
})

const unsigned: CommitEar = { sign: () => Effect.dieMessage("a commit without a signature was signed") }

const noKey = new JobError({
  code: "signing_key_missing",
  message:
    "The project wants signed commits, and the workspace has no signing key that can be opened: an owner makes one in the settings of the workspace, then retry the delivery.",
  retryable: false
})
