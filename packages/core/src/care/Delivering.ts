import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect } from "effect"
import type { Changeset } from "../changes/Changeset.js"
import type { Delivery } from "../deliveries/Delivery.js"
import { deliveryAnswers } from "../deliveries/DeliveryAnswers.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { makeRequest } from "../deliveries/RequestDelivery.js"
import type { RunningAttempt } from "../jobs/JobKind.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"
import { carePrincipal, makeCareMayAct } from "./Acting.js"
import type { CareReason } from "./Care.js"
import { CareStore } from "./CareStore.js"
import { makeDeliveryEnds } from "./DeliveryEnds.js"
import { followRows } from "./FollowRows.js"
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
  const resume = yield* makeResume
  const { isUnderWay } = yield* followRows
  const sessions = yield* SessionStore
  const { oversight } = yield* Journal

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
      const { follows } = work.attention
      const earlier = yield* deliveries.find(work.request.delivery_id)
      const terms = {
        onto: "head" as const,
        target_ref: work.request.head_branch,
        // The commit of a turn that care did not begin has the title of the session, as other deliveries have.
        ...(follows !== 1 && { title: titleOf(work) }),
        ...(earlier?.connection_id != null && { connection_id: earlier.connection_id })
      }
      // An older changeset must not come after a newer one. The end of the other delivery has this one asked for again.
      if (follows === 1 && (yield* isUnderWay(work.session.id, work.request.head_branch, changeset.id))) return
      const { delivery } = yield* request(by, changeset.id, terms, mergeOf(work.attention))
      yield* store.amend(work.attention, { delivery_id: delivery.id, changeset_id: changeset.id })
      yield* resume(by, work, delivery)
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

/** Gives the function that goes on with a delivery which somebody has asked for before. Nothing else would tell of the end of one that has ended. */
const makeResume = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const answers = yield* deliveryAnswers
  const { delivered, undelivered } = yield* makeDeliveryEnds
  return Effect.fnUntraced(function* (principal: Principal, { session: { id } }: CareWork, delivery: Delivery) {
    if (delivery.state === "succeeded") return yield* delivered(delivery)
    if (delivery.state === "cancelled") return yield* undelivered(delivery)
    if (delivery.state === "failed" || delivery.state === "blocked")
      yield* answers.retry({ principal, session: yield* sessions.writable(principal, id), delivery })
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
