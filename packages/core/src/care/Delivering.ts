import { Effect } from "effect"
import type { Changeset } from "../changes/Changeset.js"
import { DeliveryStore } from "../changes/DeliveryStore.js"
import { makeRequest } from "../changes/RequestDelivery.js"
import { ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import type { RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Oversight } from "../store/Oversight.js"
import { carePrincipal, makeCareMayAct } from "./Acting.js"
import type { CareReason } from "./Care.js"
import { CareStore } from "./CareStore.js"
import { isAboutConflict, mergeOf } from "./Merging.js"
import { type CareWork, makeEndWork, makeFindWork } from "./Work.js"

/** Gives the function that has a changeset delivered with the rights of the account. A refusal hands over. */
export const makeDeliver = Effect.gen(function* () {
  const store = yield* CareStore
  const deliveries = yield* DeliveryStore
  const mayAct = yield* makeCareMayAct
  const find = yield* makeFindWork
  const end = yield* makeEndWork
  const request = yield* makeRequest
  const sessions = yield* SessionStore
  const oversight = yield* Oversight

  return Effect.fnUntraced(function* (attempt: RunningAttempt, given: CareWork, changeset: Changeset) {
    const by = carePrincipal(given.row, given.session.workspace_id)
    const commanded = { name: "Cares.deliver", by, about: { type: "changeset", id: changeset.id } }
    const inside = Effect.gen(function* () {
      yield* sessions.lock(given.session.id)
      yield* store.lock(given.request.id)
      const work = yield* find(given.attention.id, "delivering")
      if (work === undefined || work.attention.delivery_id !== null) return
      if (!(yield* mayAct(work.row, work.session.workspace_id)))
        return yield* end(work.attention.id, "owner_lost_access")
      const earlier = yield* deliveries.find(work.request.delivery_id)
      const terms = {
        onto: "head" as const,
        target_ref: work.request.head_branch,
        title: titleOf(work),
        ...(earlier?.connection_id != null && { connection_id: earlier.connection_id })
      }
      const { delivery } = yield* request(by, changeset.id, terms, mergeOf(work.attention))
      yield* store.amend(work.attention, { delivery_id: delivery.id, changeset_id: changeset.id })
      yield* oversight.inCommit(commanded)
    })
    yield* Effect.zipRight(oversight.before(commanded), attempt.commit(inside)).pipe(
      Effect.catchIf(
        (error) => error instanceof ReinsError || error instanceof RequestInvalid,
        (error) => attempt.commit(end(given.attention.id, refusalOf(error)))
      )
    )
  })
})

const refusalOf = (error: ReinsError | RequestInvalid): CareReason => {
  if (!(error instanceof ReinsError)) return "push_refused"
  if (error.code === "forbidden" || error.code === "not_found") return "owner_lost_access"
  return error.code === "connection_required" ? "auth_required" : "push_refused"
}

const titleOf = ({ attention, request }: CareWork): string => {
  if (isAboutConflict(attention)) return `Merge ${request.base_branch} into ${request.head_branch}`
  return attention.fingerprint === null ? "Address review comments" : "Mend failing checks"
}
