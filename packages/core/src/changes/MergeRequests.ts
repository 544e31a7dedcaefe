import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import { requireAll } from "../domain/Condition.js"
import { MergeRequestId, newId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { Forges } from "../forge/Forges.js"
import { jobStates, type OperationRef } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import { deliveryRules } from "./ChangeRules.js"
import type { MergeInput, MergeRequestAnswer, MergeRequestInput } from "./ChangesApi.js"
import { Deliveries } from "./Deliveries.js"
import { type MergeRequest, mergeRequestStates } from "./MergeRequest.js"
import { MergeRequestStore } from "./MergeRequestStore.js"
import { baseBranchOf, forgePlace, titleOf } from "./MergeRequestTerms.js"

/** The kind of the job that opens a merge request. */
export const openJobKind = "merge_request.open"
/** The kind of the job that merges one; its payload is `{expected_head_sha, method}`. */
export const mergeJobKind = "merge_request.merge"

/** A forge that limits requests may refuse several attempts before it takes one. */
const maxAttempts = 8

/** The codes of a command for a resource that the principal may not change, or whose state does not allow it. */
type CommandRefusal = Denied | ReinsError<"invalid_transition">

/**
 * Delivered branches as merge requests on the forges of the installation. A command gives back the merge request with the job that works on
 * it; what became of it comes as an event of the session. Every command fails with `not_found` where the principal may not see the session,
 * and with `forbidden` where it may see the session and not change it.
 */
export class MergeRequests extends Context.Tag("@reins/core/changes/MergeRequests")<
  MergeRequests,
  {
    /**
     * A merge request as it was last observed: `Deliveries.refresh` has the forge asked again. Fails with `not_found` unless the principal
     * may see its session.
     */
    readonly get: (principal: Principal, mergeRequestId: string) => Effect.Effect<MergeRequest, Unseen>
    /** The merge requests of a delivery, newest first. A delivery that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      deliveryId: string,
      page: PageRequest
    ) => Effect.Effect<Page<MergeRequest>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Asks for a merge request of a delivered branch. A pending or open one for the same base branch is given back. Fails with
     * `delivery_unresolved` until the delivery has succeeded, with `invalid_transition` for a delivery without a branch, with
     * `connection_required` without a connection to the forge of the repository, and with `RequestInvalid` for a base that is no branch,
     * or when none is named and the session did not start from a branch.
     */
    readonly open: (
      principal: Principal,
      deliveryId: string,
      input: MergeRequestInput
    ) => Command<
      MergeRequestAnswer,
      Denied | ReinsError<"invalid_transition" | "delivery_unresolved" | "connection_required"> | RequestInvalid
    >
    /**
     * Asks for the merge of an open merge request. While a job works on it that job is given back. No other commit than
     * `expected_head_sha` is merged. Fails with `remote_head_changed` unless the head was last seen there, with `unsupported_capability` for
     * a method that the forge does not have, and with `invalid_transition` unless it is open.
     */
    readonly merge: (
      principal: Principal,
      mergeRequestId: string,
      input: MergeInput
    ) => Command<MergeRequestAnswer, CommandRefusal | ReinsError<"unsupported_capability" | "remote_head_changed">>
  }
>() {
  static readonly layer = Layer.effect(
    MergeRequests,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const deliveries = yield* Deliveries
      const store = yield* MergeRequestStore
      const open = yield* makeOpen
      const merge = yield* makeMerge

      return MergeRequests.of({
        get: fn("MergeRequests.get")(function* (principal, id) {
          const request = yield* store.find(id)
          if (request === undefined) return yield* notFound()
          yield* sessions.readable(principal, request.session_id)
          return request
        }),
        list: fn("MergeRequests.list")(function* (principal, deliveryId, page) {
          const delivery = yield* deliveries.get(principal, deliveryId)
          return yield* store.list(delivery.id, page)
        }),
        open: (principal, deliveryId, input) =>
          journal.command(
            "MergeRequests.open",
            { by: principal, about: { type: "delivery", id: deliveryId } },
            open(principal, deliveryId, input)
          ),
        merge: (principal, id, input) =>
          journal.command(
            "MergeRequests.merge",
            { by: principal, about: { type: "merge_request", id: id } },
            merge(principal, id, input)
          )
      })
    })
  )
}

/** The inside of `MergeRequests.open`. */
const makeOpen = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const deliveries = yield* Deliveries
  const store = yield* MergeRequestStore
  const placeOf = yield* forgePlace
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
    return yield* answer(request.id, principal, yield* start(openJobKind, request, session, {}))
  })
})

/** The inside of `MergeRequests.merge`. */
const makeMerge = Effect.gen(function* () {
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
    const last = yield* jobs.newestOf(request.id)
    if (!jobStates.isTerminal(last.state)) return yield* answer(request.id, principal, last)
    yield* store.mergeRequested(request.id, actorOf(principal))
    const payload = { expected_head_sha: input.expected_head_sha, method }
    return yield* answer(request.id, principal, yield* start(mergeJobKind, request, session, payload))
  })
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
