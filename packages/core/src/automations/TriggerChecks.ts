import type { AutomationId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Git } from "@reins/machine/git/Git"
import { checkPosted } from "@reins/machine/git/PostedUrl"
import { Effect, ParseResult, Schema } from "effect"
import { HookStore } from "../hooks/HookStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { AutomationDelivery, AutomationTarget, AutomationTrigger } from "./Automation.js"
import { type Planned, plannedAfter, type Schedules } from "./Plan.js"

/** Does something with the schedule of a trigger. A fault is told at its place in the request. */
export const tryOf = <A>(
  { ScheduleFault }: Schedules,
  make: () => A,
  loc: ReadonlyArray<string>,
  input: object
): Effect.Effect<A, RequestInvalid> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(make())
    } catch (fault) {
      if (!(fault instanceof ScheduleFault)) throw fault
      const { field, why } = fault
      const value: unknown = Object.entries(input).find(([name]) => name === field)?.[1]
      const issue = new ParseResult.Type(Schema.Unknown.ast, value, `The ${field} ${why}`)
      return Effect.fail(new RequestInvalid({ loc: [...loc, field], issue, input: value }))
    }
  })

/** The next occurrence of a trigger of a request; undefined for one that no clock decides. Fails for one that never comes. */
export const nextOf = (
  schedules: Schedules,
  id: AutomationId,
  trigger: AutomationTrigger,
  at: Timestamp
): Effect.Effect<Planned | undefined, RequestInvalid> =>
  Effect.suspend(() => {
    if (trigger.kind === "hook" || trigger.kind === "event") return Effect.succeed(undefined)
    return tryOf(
      schedules,
      () => {
        const planned = plannedAfter(schedules, id, trigger, at)
        if (planned !== undefined) return planned
        throw trigger.kind === "once"
          ? new schedules.ScheduleFault("at", "is not in the future")
          : new schedules.ScheduleFault("expression", "never comes")
      },
      ["body", "trigger"],
      trigger
    )
  })

/** Gives the function that gives the hook of a trigger. Fails unless it is one of the workspace. */
export const makeHookOf = Effect.gen(function* () {
  const hooks = yield* HookStore
  return Effect.fnUntraced(function* (workspaceId: string, trigger: AutomationTrigger) {
    if (trigger.kind !== "hook") return null
    const hook = yield* hooks.find(trigger.hook_id)
    if (hook?.workspace_id === workspaceId) return hook.id
    const { hook_id } = trigger
    const issue = new ParseResult.Type(Schema.Unknown.ast, hook_id, "There is no hook of this workspace with that id")
    return yield* new RequestInvalid({ loc: ["body", "trigger", "hook_id"], issue, input: hook_id })
  })
})

/** Gives the function that checks what can be known of a target before it is used. */
export const makeCheckTarget = Effect.gen(function* () {
  const git = yield* Git
  const sessions = yield* SessionStore
  return Effect.fnUntraced(function* (principal: Principal, workspaceId: string, target: AutomationTarget) {
    if (target.kind === "new_session")
      return yield* checkPosted(git, ["body", "target", "repository"], target.repository)
    const session = yield* Effect.option(sessions.readable(principal, target.session_id))
    if (session._tag === "Some" && session.value.workspace_id === workspaceId && session.value.lifecycle !== "closed")
      return
    const { session_id } = target
    const issue = new ParseResult.Type(
      Schema.Unknown.ast,
      session_id,
      "There is no open session of this workspace with that id"
    )
    return yield* new RequestInvalid({ loc: ["body", "target", "session_id"], issue, input: session_id })
  })
})

/** Fails for a merge request that closes an issue which nothing names. */
export const checkCloses = (
  trigger: AutomationTrigger,
  deliver: AutomationDelivery | null
): Effect.Effect<void, RequestInvalid> => {
  const closes = deliver?.merge_request?.closes
  if (closes === undefined || trigger.kind === "hook") return Effect.void
  const issue = new ParseResult.Type(Schema.Unknown.ast, closes, "Only the body of a hook has the number of an issue")
  return Effect.fail(new RequestInvalid({ loc: ["body", "deliver", "merge_request", "closes"], issue, input: closes }))
}
