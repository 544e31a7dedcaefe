import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Data, Effect } from "effect"
import { actorOf } from "../access/Access.js"
import { SessionLifecycles } from "../sessions/creation/SessionLifecycles.js"
import { Inbox } from "../sessions/Inbox.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import type { Automation, AutomationTrigger } from "./Automation.js"

/** The refusals of a run that stay until somebody changes something. Others, as a used up quota, pass by themselves. */
const lasting = [
  "connection_required",
  "connection_revoked",
  "context_unavailable",
  "credential_invalid",
  "invalid_transition",
  "model_required",
  "not_found",
  "payload_too_large",
  "provider_disabled",
  "unsupported_capability"
] as const

/** The refusal of an automation that no run of could begin, in the words of that run. */
export type RunRefusal = ReinsError<(typeof lasting)[number]>

/** Ends a commit of which nothing is to stand. */
class Rehearsed extends Data.TaggedError("Rehearsed")<object> {}

/** True for what is not chosen yet. A hook and its filter are set up with their caller, often before the model is. */
const isUnchosen = (refusal: ReinsError, { kind }: AutomationTrigger): boolean =>
  kind !== "schedule" && refusal.is("model_required", "connection_required")

/**
 * Gives the function that begins a run of an automation which a change would lead to, in a commit of which nothing stands. It fails as the change does, and
 * as the run would.
 */
export const makeRehearse = Effect.gen(function* () {
  const journal = yield* Journal
  const lifecycles = yield* SessionLifecycles
  const inbox = yield* Inbox

  const begin = Effect.fnUntraced(function* (
    principal: Principal,
    { deliver, name, target, workspace_id }: Automation
  ) {
    if (target.kind !== "new_session") return
    const { kind: _, message, ...input } = target
    const actor = actorOf(principal)
    const session = yield* lifecycles.begin(workspace_id, actor, { title: name, ...input })
    if (deliver !== null && session.tree.repository === null) return yield* nowhere
    yield* inbox.post(session, actor, { content: message }, "message")
  })

  return <E>(principal: Principal, change: Effect.Effect<Automation, E, Commit>): Effect.Effect<void, E | RunRefusal> =>
    journal
      .commit(
        Effect.gen(function* () {
          const automation = yield* change
          yield* Effect.catchAll(begin(principal, automation), (refusal) =>
            refusal.is(...lasting) && !isUnchosen(refusal, automation.trigger) ? Effect.fail(refusal) : Effect.void
          )
          return yield* new Rehearsed()
        })
      )
      .pipe(
        Effect.catchIf(
          (error) => error instanceof Rehearsed,
          () => Effect.void
        )
      ) as Effect.Effect<void, E | RunRefusal>
})

const nowhere = new ReinsError({
  code: "invalid_transition",
  message:
    "The runs are to deliver their changes, and have no repository. Give the target a repository, or a project that has one.",
  details: { resource: "automation" }
})
