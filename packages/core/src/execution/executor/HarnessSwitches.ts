import type { NewEvent } from "@reins/base/domain/Event"
import type { Principal } from "@reins/base/domain/Principal"
import { Bench } from "@reins/machine/bench/Bench"
import { Context, Effect, Layer } from "effect"
import { actorOf } from "../../access/Access.js"
import type { CreateRefusal } from "../../sessions/CreateSession.js"
import { SessionLifecycles } from "../../sessions/creation/SessionLifecycles.js"
import { Inbox } from "../../sessions/Inbox.js"
import type { Session } from "../../sessions/rows/Session.js"
import { SessionListeners } from "../../sessions/rows/SessionListeners.js"
import { configuredRules } from "../../sessions/rows/SessionRules.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { toSession } from "../../sessions/SessionView.js"
import type { Command } from "../../store/Command.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import type { HarnessSwitchInput } from "./ExecutorApi.js"
import { makeSeed } from "./SwitchSeed.js"

/** Goes on with another provider. A new session is linked to the old one, and its agent is told of the old one by a summary. */
export class HarnessSwitches extends Context.Tag("@reins/core/execution/HarnessSwitches")<
  HarnessSwitches,
  {
    /**
     * Makes the new session with the summary as its first message; its agent gets the summary with the first turn. A changeset of the old
     * session brings its files into the new workspace. The old session stays as it is, in every state.
     */
    readonly create: (
      principal: Principal,
      sessionId: string,
      input: HarnessSwitchInput
    ) => Command<Session, CreateRefusal>
  }
>() {
  static readonly layer = Layer.effect(
    HarnessSwitches,
    Effect.gen(function* () {
      const journal = yield* Journal
      const store = yield* SessionStore
      const lifecycles = yield* SessionLifecycles
      const listeners = yield* SessionListeners
      const inbox = yield* Inbox
      const { agents } = yield* Bench
      const seedOf = yield* makeSeed
      const { sessionActions } = yield* configuredRules

      return HarnessSwitches.of({
        create: (principal, sessionId, input) =>
          journal.command(
            "HarnessSwitches.create",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const old = yield* store.writable(principal, sessionId)
              const actor = actorOf(principal)
              const seed = input.changeset_id === undefined ? null : yield* seedOf(old, input.changeset_id)
              const made = yield* lifecycles.link(old, actor, {
                kind: "harness_switch",
                harness: input.harness,
                connectionId: input.connection_id,
                seed
              })
              yield* inbox.post(made, actor, { content: input.summary, routing: "note" }, "handoff_summary")
              const linked: NewEvent = {
                type: "session.linked",
                payload: {
                  from_session_id: old.id,
                  to_session_id: made.id,
                  link_kind: "harness_switch",
                  changeset_id: seed?.changeset_id ?? null
                }
              }
              yield* journal.append(old.id, actor, [linked])
              yield* journal.append(made.id, actor, [linked])
              // The work goes on elsewhere, so the agent that was kept for the next turn is not needed soon.
              if (old.executor.lease !== null) yield* journal.afterCommit(agents.dismiss(old.executor.lease.id))
              yield* listeners.begun(made)
              const next = yield* existingOf("session", store.find)(made.id)
              return toSession(next, sessionActions(principal, old.role, next))
            })
          )
      })
    })
  )
}
