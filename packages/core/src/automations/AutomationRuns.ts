import { fn } from "@reins/base/base/Traced"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, actorOf, type Denied, type Unseen } from "../access/Access.js"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { MergeRequestStore } from "../requests/rows/MergeRequestStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import {
  type AutomationRun,
  type AutomationRunState,
  automationRunStates,
  type FinishedAutomationRun
} from "./AutomationRun.js"
import { AutomationStore } from "./AutomationStore.js"
import { automationAccess } from "./AutomationViews.js"
import { makeRunStart, type Occurrence, type Unstartable } from "./RunStart.js"
import { type RunRow, RunStore, toRun } from "./RunStore.js"

/** The runs of automations. Everybody in the workspace sees them, also those of an automation that was deleted. */
export class AutomationRuns extends Context.Tag("@reins/core/automations/AutomationRuns")<
  AutomationRuns,
  {
    /** The runs of an automation, newest first. */
    readonly list: (
      principal: Principal,
      automationId: string,
      page: StatePageRequest<AutomationRunState>
    ) => Effect.Effect<Page<AutomationRun>, Unseen | ReinsError<"invalid_cursor">>
    /** A run, with what it has used and what came of it. */
    readonly get: (principal: Principal, runId: string) => Effect.Effect<FinishedAutomationRun, Unseen>
    /**
     * Begins a run now, also of an automation that is paused. It has the rights of the caller. Overlap and budget hold for it as for others. Fails as a new
     * session or a message of the caller does.
     */
    readonly start: (principal: Principal, automationId: string) => Command<AutomationRun, Denied | Unstartable>
    /** `start` for an occurrence that has had its run. Fails with `invalid_transition` for one that has not ended. */
    readonly retry: (principal: Principal, runId: string) => Command<AutomationRun, Denied | Unstartable>
    /** Cancels the turn of a run, which then ends with it. Fails with `invalid_transition` for one that has ended. */
    readonly cancel: (
      principal: Principal,
      runId: string
    ) => Command<AutomationRun, Denied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    AutomationRuns,
    Effect.gen(function* () {
      const journal = yield* Journal
      const access = yield* Access
      const runs = yield* RunStore
      const turns = yield* TurnStore
      const resultOf = yield* makeResultOf
      const { begin } = yield* makeRunStart
      const automations = yield* AutomationStore
      const { writable } = yield* automationAccess
      const cancel = yield* makeCancel

      const existing = (runId: string) =>
        Effect.flatMap(runs.find(runId), (run) => (run === undefined ? Effect.fail(notFound()) : Effect.succeed(run)))

      const beginNow = Effect.fnUntraced(function* (
        principal: Principal,
        automationId: string,
        kind: Pick<Occurrence, "closes" | "kind" | "payload" | "retry_of_run_id">
      ) {
        const held = yield* writable(principal, automationId)
        const run = yield* begin(held, principal, { ...kind, due_at: held.at, late_seconds: 0 })
        return run === undefined ? yield* Effect.dieMessage("an occurrence of its own has a run") : toRun(run)
      })

      return AutomationRuns.of({
        cancel,
        list: fn("AutomationRuns.list")(function* (principal, automationId, page) {
          // The runs of one that was deleted stay readable.
          const row = yield* automations.findEver(automationId)
          if (row === undefined) return yield* notFound()
          yield* access.read(principal, row.workspace_id)
          return yield* runs.list(row.id, page)
        }),
        get: fn("AutomationRuns.get")(function* (principal, runId) {
          const run = yield* existing(runId)
          yield* access.read(principal, run.workspace_id)
          const turn = run.turn_id === null ? undefined : yield* turns.find(run.turn_id)
          return { ...toRun(run), usage: turn?.usage ?? null, ...(yield* resultOf(run)) }
        }),
        start: (principal, automationId) =>
          journal.command(
            "AutomationRuns.start",
            { by: principal, about: { type: "automation", id: automationId } },
            beginNow(principal, automationId, { kind: "hand" })
          ),
        retry: (principal, runId) =>
          journal.command(
            "AutomationRuns.retry",
            { by: principal, about: { type: "automation_run", id: runId } },
            Effect.gen(function* () {
              const run = yield* existing(runId)
              yield* access.read(principal, run.workspace_id)
              if (!automationRunStates.isTerminal(run.state))
                return yield* automationRunStates.refusal(run.state, "waiting")
              return yield* beginNow(principal, run.automation_id, {
                kind: "retry",
                retry_of_run_id: run.id,
                payload: run.payload,
                closes: run.closes
              })
            })
          )
      })
    })
  )
}

/** Gives the function that finds what came of a run. */
const makeResultOf = Effect.gen(function* () {
  const changesets = yield* ChangesetStore
  const deliveries = yield* DeliveryStore
  const mergeRequests = yield* MergeRequestStore

  return Effect.fnUntraced(function* ({ session_id, turn_id, undelivered_message, undelivered_reason }: RunRow) {
    const undelivered = { undelivered_reason, undelivered_message }
    const nothing = { changeset_id: null, delivery_id: null, merge_request_id: null, ...undelivered }
    const changeset = session_id === null ? undefined : yield* changesets.newestSealed(session_id)
    if (changeset === undefined || changeset.source_turn_id !== turn_id || changeset.empty) return nothing
    const [delivery] = (yield* Effect.orDie(deliveries.list(changeset.id, { limit: 1 }))).items
    const requests =
      delivery === undefined ? [] : (yield* Effect.orDie(mergeRequests.list(delivery.id, { limit: 1 }))).items
    return {
      changeset_id: changeset.id,
      delivery_id: delivery?.id ?? null,
      merge_request_id: requests[0]?.id ?? null,
      ...undelivered
    }
  })
})

const makeCancel = Effect.gen(function* () {
  const journal = yield* Journal
  const access = yield* Access
  const runs = yield* RunStore
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const { writable } = yield* automationAccess

  const inside = Effect.fnUntraced(function* (principal: Principal, runId: string) {
    const found = yield* runs.find(runId)
    if (found === undefined) return yield* notFound()
    yield* access.read(principal, found.workspace_id)
    // The session comes before the automation, as in the commits of turns.
    if (found.session_id !== null) yield* sessions.lock(found.session_id)
    yield* writable(principal, found.automation_id)
    const run = yield* existingRun(runs, runId)
    yield* automationRunStates.check(run.state, "cancelled")
    if (run.turn_id === null) {
      const reason_message = "It was cancelled before it began."
      return toRun(yield* runs.move(run, "cancelled", { reason: "user_cancelled", reason_message }))
    }
    yield* turns.cancel(run.turn_id, actorOf(principal))
    return toRun(yield* existingRun(runs, runId))
  })

  const cancel: AutomationRuns["Type"]["cancel"] = (principal, runId) =>
    journal.command(
      "AutomationRuns.cancel",
      { by: principal, about: { type: "automation_run", id: runId } },
      inside(principal, runId)
    )
  return cancel
})

const existingRun = (runs: RunStore["Type"], runId: string): Effect.Effect<RunRow> =>
  Effect.flatMap(runs.find(runId), (run) =>
    run === undefined ? Effect.dieMessage(`no automation run ${runId}`) : Effect.succeed(run)
  )
