import { fn } from "@reins/base/base/Traced"
import { requireAll } from "@reins/base/domain/Condition"
import { ApplicationId, newId } from "@reins/base/domain/Ids"
import type { TurnPrincipal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, systemActor } from "../access/Access.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { turnStates } from "../sessions/rows/Turn.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import type { Application, ApplicationStrategy } from "./Application.js"
import { ApplicationStore } from "./ApplicationStore.js"
import { type ApplyWork, endedBy, makeApply } from "./ApplyWork.js"
import { changesetRules } from "./ChangeRules.js"
import { Changesets } from "./Changesets.js"

const actor = systemActor("applications")

/**
 * Sealed changesets that an agent brings into its own working tree while its turn runs. The attempt of the turn has the working tree, so no job could
 * do that before the turn has ended.
 */
export class TurnApplications extends Context.Tag("@reins/core/changes/TurnApplications")<
  TurnApplications,
  {
    /**
     * Applies a changeset and gives the application at its end. A file that something has written since the merge began is a conflict. Fails with
     * `stale_subject` for an unsealed changeset, and with `invalid_transition` once the turn has ended and while another application of it goes on.
     */
    readonly apply: (
      principal: TurnPrincipal,
      changesetId: string,
      how: { readonly strategy: ApplicationStrategy; readonly dryRun: boolean }
    ) => Effect.Effect<Application, Denied | ReinsError<"stale_subject" | "invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    TurnApplications,
    Effect.gen(function* () {
      const changesets = yield* Changesets
      const journal = yield* Journal
      const listeners = yield* SessionListeners
      const sessions = yield* SessionStore
      const store = yield* ApplicationStore
      const existing = existingOf("application", store.find)
      const work = yield* makeApply

      const begin = (
        principal: TurnPrincipal,
        changesetId: string,
        { dryRun, strategy }: { readonly strategy: ApplicationStrategy; readonly dryRun: boolean }
      ) =>
        journal.command(
          "TurnApplications.begin",
          { by: principal, about: { type: "changeset", id: changesetId } },
          Effect.gen(function* () {
            const changeset = yield* changesets.get(principal, changesetId)
            const target = yield* sessions.writable(principal, principal.via.sessionId)
            yield* requireAll(changesetRules.apply, changeset)
            const { turnId } = principal.via
            if (target.turns.active?.id !== turnId || target.turns.active.state === "cancelling")
              return yield* turnEnded
            // Two merges at once would take each other's files for those of somebody else.
            if ((yield* store.unended(turnId)).length > 0) return yield* anotherRuns
            const { id } = yield* store.insert({
              id: yield* newId(ApplicationId),
              changeset_id: changeset.id,
              session_id: changeset.session_id,
              target_session_id: target.id,
              turn_id: turnId,
              strategy,
              dry_run: dryRun
            })
            yield* store.move(id, { state: "executing" }, actor)
            const application = yield* existing(id)
            const begun: ApplyWork = { application, base: changeset.base_commit, tree: changeset.tree ?? "" }
            return begun
          })
        )

      yield* listeners.register({
        // An application ends in its turn, unless the process ended.
        turnMoved: Effect.fnUntraced(function* ({ id, state }) {
          if (!turnStates.isTerminal(state)) return
          for (const left of yield* store.unended(id)) yield* store.move(left, brokenOff, actor)
        })
      })

      return TurnApplications.of({
        apply: fn("TurnApplications.apply")(function* (principal, changesetId, how) {
          const begun = yield* begin(principal, changesetId, how)
          const { id } = begun.application
          const change = yield* work(begun, journal.commit).pipe(
            Effect.map(({ changed, conflicts, state }) => ({ state, changed, conflicts })),
            Effect.catchTag("JobError", (failure) => Effect.succeed(endedBy(failure))),
            Effect.tapDefect(() => journal.commit(store.move(id, brokenOff, actor)))
          )
          // The end of the turn ends its applications, and may have come meanwhile.
          const ended = Effect.gen(function* () {
            yield* sessions.lock(principal.via.sessionId)
            if ((yield* existing(id)).state === "executing") yield* store.move(id, change, actorOf(principal))
          })
          yield* journal.commit(ended)
          return yield* existing(id)
        }, Effect.uninterruptible)
      })
    })
  )
}

const turnEnded = new ReinsError({
  code: "invalid_transition",
  message: "The turn has ended, so nothing is applied in it.",
  details: { resource: "turn" }
})

const anotherRuns = new ReinsError({
  code: "invalid_transition",
  message: "Another application of this turn goes on. Apply one after the other.",
  details: { resource: "application" }
})

const brokenOff = endedBy({
  code: "internal_error",
  message: "The application broke off. The paths of `changed` may have been written: compare them, then apply again."
})
