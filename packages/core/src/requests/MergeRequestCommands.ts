import { requireAll } from "@reins/base/domain/Condition"
import { MergeRequestId, newId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect, ParseResult, Schema } from "effect"
import { actorOf } from "../access/Access.js"
import { Deliveries } from "../deliveries/Deliveries.js"
import { deliveryRules } from "../deliveries/DeliveryRules.js"
import { JobStore } from "../jobs/JobStore.js"
import { Projects } from "../projects/Projects.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { makeMergeByConditions } from "./conditions/MergeByConditions.js"
import { makeSetConditions, requireMethod } from "./conditions/SetConditions.js"
import { makeAnswer } from "./MergeRequestAnswers.js"
import { baseBranchOf, forgePlace, titleOf } from "./MergeRequestTerms.js"
import type { MergeInput } from "./RequestInputs.js"
import type { MergeRequestInput, RerunInput } from "./RequestsApi.js"
import type { MergeRequest } from "./rows/MergeRequest.js"
import { mergeJobKind, openJobKind, rerunJobKind } from "./rows/MergeRequestJobs.js"
import { canRerun, mergeRequestRules } from "./rows/MergeRequestRules.js"
import { MergeRequestStore } from "./rows/MergeRequestStore.js"
import { partReads } from "./rows/PartRows.js"
import { RequestListeners } from "./rows/RequestListeners.js"

/** The inside of `MergeRequests.open`. */
export const makeOpenRequest = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const deliveries = yield* Deliveries
  const store = yield* MergeRequestStore
  const placeOf = yield* forgePlace
  const projects = yield* Projects
  const listeners = yield* RequestListeners
  const setConditions = yield* makeSetConditions
  const { answer, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, deliveryId: string, input: MergeRequestInput) {
    const found = yield* deliveries.get(principal, deliveryId)
    const session = yield* sessions.writable(principal, found.session_id)
    // Read again now that its session is held against other writers.
    const delivery = yield* deliveries.get(principal, deliveryId)
    yield* requireAll(deliveryRules.open_merge_request, delivery)
    const base = yield* baseBranchOf(session, delivery, input)
    const known = yield* store.findOngoing(delivery.id, base)
    const answered = answer(principal, session)
    if (known !== undefined) return yield* answered(known.id, yield* jobs.newestOf(known.id))
    const { connection, forge, repository } = yield* placeOf(principal, delivery, session)
    const request = yield* store.insert(
      {
        id: yield* newId(MergeRequestId),
        delivery_id: delivery.id,
        changeset_id: delivery.changeset_id,
        session_id: delivery.session_id,
        connection_id: connection.id,
        forge,
        repository,
        head_branch: delivery.target_ref,
        base_branch: base,
        title: titleOf(input, delivery),
        description: input.description ?? "",
        draft: input.draft ?? true
      },
      actorOf(principal)
    )
    const spec = yield* projects.specOf(session)
    yield* listeners.requested(request, principal, input.care ?? spec.delivery?.care)
    const conditions = spec.delivery?.merge_conditions
    if (conditions !== undefined) yield* setConditions(principal, request, conditions)
    return yield* answered(request.id, yield* start(openJobKind, request, session, {}))
  })
})

/** The inside of `MergeRequests.merge`. */
export const makeMerge = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const forges = yield* Forges
  const byConditions = yield* makeMergeByConditions
  const { answer, existing, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, id: string, input: MergeInput) {
    const found = yield* store.find(id)
    if (found === undefined) return yield* notFound()
    const session = yield* sessions.writable(principal, found.session_id)
    const request = yield* existing(id)
    const answered = answer(principal, session)
    yield* requireAll(mergeRequestRules.merge, request)
    if (input.when === "conditions") {
      yield* requireNothingElse(input)
      return yield* answered(request.id, yield* byConditions(principal, request, session))
    }
    if (input.expected_head_sha === undefined) return yield* misfit("expected_head_sha", "Field required", undefined)
    const method = input.method ?? "merge"
    yield* requireMethod(forges.find(request.forge), request.forge, method)
    if (request.head_sha !== input.expected_head_sha) return yield* headChanged(request)
    const live = { kind: mergeJobKind, subjectId: request.id, workspaceId: session.workspace_id }
    const last = yield* jobs.findLive(live)
    if (last !== undefined) return yield* answered(request.id, last)
    yield* store.mergeRequested(request.id, actorOf(principal))
    const { base_branch } = request
    const any_method = input.method === undefined
    const payload = { expected_head_sha: input.expected_head_sha, method, any_method, base_branch }
    return yield* answered(request.id, yield* start(mergeJobKind, request, session, payload))
  })
})

/** The inside of `MergeRequests.rerun`. */
export const makeRerun = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const forges = yield* Forges
  const redChecks = yield* makeRedChecks
  const { answer, existing, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, id: string, input: RerunInput) {
    const found = yield* store.find(id)
    if (found === undefined) return yield* notFound()
    const session = yield* sessions.writable(principal, found.session_id)
    const request = yield* existing(id)
    yield* requireAll(mergeRequestRules.look, request)
    if (!canRerun(forges, request)) return yield* cannotRerun(request.forge)
    const red = yield* redChecks(request)
    const ids = input.check_ids ?? red.map((check) => check.id)
    if (ids.some((wanted) => !red.some((check) => check.id === wanted))) return yield* notFound()
    const job = yield* start(rerunJobKind, request, session, { check_ids: ids })
    return yield* answer(principal, session)(request.id, job)
  })
})

const makeRedChecks = Effect.map(partReads, ({ seenChecksOf }) =>
  Effect.fnUntraced(function* ({ head_sha, id }: MergeRequest) {
    const checks = yield* seenChecksOf(id, head_sha ?? "")
    return checks.filter(({ state }) => state === "failing" || state === "cancelled")
  })
)

const cannotRerun = (forge: string): ReinsError<"unsupported_capability"> =>
  new ReinsError({
    code: "unsupported_capability",
    message: `${forge} cannot be asked to run a check again. Begin it on its own page.`,
    details: { forge, action: "rerun" }
  })

/** A merge by conditions has the head and the method that they say. */
const requireNothingElse = ({ expected_head_sha, method }: MergeInput): Effect.Effect<void, RequestInvalid> => {
  const why = 'Input should be absent with when "conditions"'
  if (expected_head_sha !== undefined) return misfit("expected_head_sha", why, expected_head_sha)
  return method === undefined ? Effect.void : misfit("method", why, method)
}

const misfit = (name: keyof MergeInput, message: string, input: unknown): Effect.Effect<never, RequestInvalid> =>
  Effect.fail(
    new RequestInvalid({
      loc: ["body", name],
      issue: new ParseResult.Type(Schema.String.ast, input, message),
      input
    })
  )

const headChanged = (request: MergeRequest): ReinsError<"remote_head_changed"> =>
  new ReinsError({
    code: "remote_head_changed",
    message:
      "The head of the merge request was last seen at another commit. Refresh the delivery, look at what is there, then merge that.",
    details: { head_sha: request.head_sha, observed_at: request.observed_at }
  })
