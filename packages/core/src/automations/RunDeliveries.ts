import { fn } from "@reins/base/base/Traced"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, Layer } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { DeliveryListeners } from "../deliveries/DeliveryListeners.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { makeRequest } from "../deliveries/RequestDelivery.js"
import type { JobKind } from "../jobs/JobKind.js"
import { JobStore } from "../jobs/JobStore.js"
import { makeOpenRequest } from "../requests/MergeRequestCommands.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"
import type { Commanded } from "../store/Oversight.js"
import { makeMayAct, principalOf } from "./Acting.js"
import type { AutomationDelivery } from "./Automation.js"
import { type AutomationRow, AutomationStore, optionsOf } from "./AutomationStore.js"
import { lostAccess } from "./Pausing.js"
import { type RunRow, RunStore } from "./RunStore.js"

/** The kind of the job that asks for the delivery of a run, and later for its merge request. */
export const deliverJobKind = "automation.deliver"

/** Gives the function that has the work of an ended run delivered, if its automation says so. */
export const makeDeliverLater = Effect.gen(function* () {
  const jobs = yield* JobStore
  return Effect.fnUntraced(function* (row: AutomationRow, run: RunRow) {
    if (run.state !== "succeeded" || optionsOf(row).deliver === null) return
    yield* jobs.enqueue({
      kind: deliverJobKind,
      subject: { type: "automation_run", id: run.id },
      workspaceId: row.workspace_id,
      payload: {},
      maxAttempts: 20,
      isSameWork: true
    })
  })
})

/** Has the merge request of a run asked for in the commit that ends its delivery. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const listeners = yield* DeliveryListeners
    const store = yield* AutomationStore
    const runs = yield* RunStore
    const deliverLater = yield* makeDeliverLater
    yield* listeners.register({
      delivered: Effect.fnUntraced(function* ({ id }) {
        const run = yield* runs.ofDelivery(id)
        if (run === undefined || run.merge_request_id !== null) return
        const row = yield* store.find(run.automation_id)
        if (row !== undefined && optionsOf(row).deliver?.merge_request !== undefined) yield* deliverLater(row, run)
      })
    })
  })
)

/** A run with its automation, and what that delivers. */
interface Work {
  readonly row: AutomationRow
  readonly run: RunRow
  readonly deliver: AutomationDelivery
}

/** Gives the commit of the next step of a run: its delivery, or the merge request of that. It does nothing where there is no next step. */
const makeStep = Effect.gen(function* () {
  const runs = yield* RunStore
  const changesets = yield* ChangesetStore
  const deliveries = yield* DeliveryStore
  const sessions = yield* SessionStore
  const request = yield* makeRequest
  const open = yield* makeOpenRequest

  const deliver = Effect.fnUntraced(function* ({ deliver, row, run }: Work) {
    if (run.session_id === null) return
    const session = yield* sessions.lock(run.session_id)
    const changeset = yield* changesets.newestSealed(run.session_id)
    if (session === undefined || changeset?.source_turn_id !== run.turn_id || changeset.empty) return
    const { repository } = session.tree
    // A session that has an open branch goes on with it.
    const branch = repository === null ? undefined : yield* deliveries.openBranch(session.id, repository, undefined)
    const { connection_id, title } = deliver
    const { delivery } = yield* request(principalOf(row), changeset.id, {
      ...(title !== undefined && { title }),
      ...(connection_id !== undefined && { connection_id }),
      ...(branch !== undefined && { onto: "head" as const })
    })
    yield* runs.update(run.id, { delivery_id: delivery.id })
    return delivery.state === "succeeded" ? delivery.id : undefined
  })

  const propose = Effect.fnUntraced(function* ({ deliver: { merge_request: wanted }, row, run }: Work, id: string) {
    if (wanted === undefined || run.merge_request_id !== null) return
    const { closes: _, description = "", ...terms } = wanted
    const closing = run.closes === null ? [] : [`Closes #${run.closes}`]
    const text = [...(description === "" ? [] : [description]), ...closing].join("\n\n")
    const { merge_request } = yield* open(principalOf(row), id, { ...terms, description: text })
    yield* runs.update(run.id, { merge_request_id: merge_request.id })
  })

  return Effect.fnUntraced(function* (work: Work) {
    const asked = work.run.delivery_id
    const delivered =
      asked === null ? yield* deliver(work) : (yield* deliveries.find(asked))?.state === "succeeded" ? asked : undefined
    if (delivered !== undefined) yield* propose(work, delivered)
  })
})

/** Delivers the work of a run with the rights of its account. A refusal is written down with the run. */
export const deliverJob = Effect.gen(function* () {
  const store = yield* AutomationStore
  const runs = yield* RunStore
  const mayAct = yield* makeMayAct
  const step = yield* makeStep
  const { oversight } = yield* Journal

  /** The work as it is now; undefined for nothing to do. */
  const workOf = Effect.fnUntraced(function* (runId: string) {
    const run = yield* runs.find(runId)
    const row = run && (yield* store.find(run.automation_id))
    const deliver = row && optionsOf(row).deliver
    return run === undefined || row === undefined || deliver == null ? undefined : { row, run, deliver }
  })
  const refuse = (runId: RunRow["id"], reason: string, message: string) =>
    Effect.asVoid(runs.update(runId, { undelivered_reason: reason, undelivered_message: message }))

  return {
    kind: deliverJobKind,
    concurrency: 4,
    deadlineMs: 60_000,
    run: fn("deliverJob.run")(function* ({ claim, commit }) {
      const found = yield* workOf(claim.subject.id)
      if (found === undefined) return done
      const { row, run } = found
      const command: Commanded = {
        name: "Automations.deliver",
        by: principalOf(row),
        about: { type: "automation_run", id: run.id }
      }
      const inside = Effect.gen(function* () {
        const work = yield* workOf(run.id)
        if (work === undefined) return
        if (!(yield* mayAct(work.row))) return yield* refuse(run.id, "owner_lost_access", lostAccess)
        yield* step(work)
        yield* oversight.inCommit(command)
      })
      yield* Effect.zipRight(oversight.before(command), commit(inside)).pipe(
        Effect.catchIf(
          (error) => error instanceof ReinsError || error instanceof RequestInvalid,
          (error) =>
            commit(refuse(run.id, error instanceof ReinsError ? error.code : "validation_error", error.message))
        )
      )
      return done
    }),
    failed: ({ subject }, { code, message }) =>
      Effect.flatMap(runs.find(subject.id), (run) => (run === undefined ? Effect.void : refuse(run.id, code, message))),
    lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
  } satisfies JobKind
})

const done = { state: "succeeded", command: Effect.void } as const
