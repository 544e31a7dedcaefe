import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import { requireAll } from "../domain/Condition.js"
import { MergeRequestId, newId } from "../domain/Ids.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { Forges } from "../forge/Forges.js"
import type { OperationRef } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { deliveryRules } from "./ChangeRules.js"
import type { MergeInput, MergeRequestInput, RerunInput } from "./ChangesApi.js"
import { Deliveries } from "./Deliveries.js"
import { partReads } from "./looks/PartRows.js"
import { RequestListeners } from "./looks/RequestListeners.js"
import { type MergeRequest, mergeRequestStates } from "./MergeRequest.js"
import { MergeRequestStore } from "./MergeRequestStore.js"
import { baseBranchOf, forgePlace, titleOf } from "./MergeRequestTerms.js"

/** The kind of the job that opens a merge request. */
export const openJobKind = "merge_request.open"
/** The kind of the job that merges one; its payload is `{expected_head_sha, method}`. */
export const mergeJobKind = "merge_request.merge"

/** The kind of the job that begins checks anew; its payload is `{check_ids}`. */
export const rerunJobKind = "merge_request.rerun"

/** A forge that limits requests may refuse several attempts before it takes one. */
const maxAttempts = 8

/** The inside of `MergeRequests.open`. */
export const makeOpenRequest = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const deliveries = yield* Deliveries
  const store = yield* MergeRequestStore
  const placeOf = yield* forgePlace
  const projects = yield* Projects
  const listeners = yield* RequestListeners
  const { answer, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, deliveryId: string, input: MergeRequestInput) {
    const found = yield* deliveries.get(principal, deliveryId)
    const session = yield* sessions.writable(principal, found.session_id)
    // Read again now that its session is held against other writers.
    const delivery = yield* deliveries.get(principal, deliveryId)
    yield* requireAll(deliveryRules.open_merge_request, delivery)
    const base = yield* baseBranchOf(session, delivery, input)
    const known = yield* store.findOngoing(delivery.id, base)
    if (known !== undefined) return yield* answer(known.id, principal, yield* jobs.newestOf(known.id))
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
    return yield* answer(request.id, principal, yield* start(openJobKind, request, session, {}))
  })
})

/** The inside of `MergeRequests.merge`. */
export const makeMerge = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const store = yield* MergeRequestStore
  const forges = yield* Forges
  const { answer, existing, start } = yield* makeAnswer

  return Effect.fnUntraced(function* (principal: Principal, id: string, input: MergeInput) {
    const found = yield* store.find(id)
    if (found === undefined) return yield* notFound()
    const session = yield* sessions.writable(principal, found.session_id)
    const request = yield* existing(id)
    yield* mergeRequestStates.check(request.state, "merged")
    const method = input.method ?? "merge"
    const methods = forges.find(request.forge)?.mergeMethods ?? new Set()
    if (!methods.has(method)) return yield* unsupportedMethod(request.forge, method, methods)
    if (request.head_sha !== input.expected_head_sha) return yield* headChanged(request)
    const live = { kind: mergeJobKind, subjectId: request.id, workspaceId: session.workspace_id }
    const last = yield* jobs.findLive(live)
    if (last !== undefined) return yield* answer(request.id, principal, last)
    yield* store.mergeRequested(request.id, actorOf(principal))
    const payload = { expected_head_sha: input.expected_head_sha, method }
    return yield* answer(request.id, principal, yield* start(mergeJobKind, request, session, payload))
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
    yield* mergeRequestStates.check(request.state, "merged")
    if (forges.find(request.forge)?.can.has("rerun") !== true) return yield* cannotRerun(request.forge)
    const red = yield* redChecks(request)
    const ids = input.check_ids ?? red.map((check) => check.id)
    if (ids.some((wanted) => !red.some((check) => check.id === wanted))) return yield* notFound()
    return yield* answer(request.id, principal, yield* start(rerunJobKind, request, session, { check_ids: ids }))
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

/** Starts the jobs of merge requests, and answers the requests for them. */
const makeAnswer = Effect.gen(function* () {
  const journal = yield* Journal
  const jobs = yield* JobStore
  const store = yield* MergeRequestStore
  const existing = existingOf("merge request", store.find)
  return {
    existing,
    answer: Effect.fnUntraced(function* (id: MergeRequestId, principal: Principal, operation: OperationRef) {
      const request = yield* existing(id)
      const watermark = yield* journal.append(request.session_id, actorOf(principal), [])
      return { operation, merge_request: request, event_watermark: watermark }
    }),
    start: (kind: string, { id }: MergeRequest, session: SessionRow, payload: Readonly<Record<string, unknown>>) =>
      jobs.enqueue({
        kind,
        subject: { type: "merge_request", id },
        workspaceId: session.workspace_id,
        payload,
        maxAttempts
      })
  }
})

const unsupportedMethod = (
  forge: string,
  method: string,
  supported: ReadonlySet<string>
): ReinsError<"unsupported_capability"> =>
  new ReinsError({
    code: "unsupported_capability",
    message: `${forge} cannot be asked to merge with the method "${method}". Use another one.`,
    details: { forge, method, supported: [...supported] }
  })

const headChanged = (request: MergeRequest): ReinsError<"remote_head_changed"> =>
  new ReinsError({
    code: "remote_head_changed",
    message:
      "The head of the merge request was last seen at another commit. Refresh the delivery, look at what is there, then merge that.",
    details: { head_sha: request.head_sha, observed_at: request.observed_at }
  })
