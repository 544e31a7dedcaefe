import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Git } from "@reins/machine/git/Git"
import { checkPosted } from "@reins/machine/git/PostedUrl"
import { Effect } from "effect"
import { Access, actorOf, type Denied } from "../access/Access.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { existingOf } from "../store/Existing.js"
import { makeCheckInput } from "./creation/CheckInput.js"
import { SessionLifecycles, type Unbegun } from "./creation/SessionLifecycles.js"
import type { SessionInput } from "./creation/SessionsApi.js"
import { Inbox } from "./Inbox.js"
import type { Unpostable } from "./MessageAdmission.js"
import { SessionListeners } from "./rows/SessionListeners.js"
import type { SessionRow } from "./rows/SessionRow.js"
import { configuredRules } from "./rows/SessionRules.js"
import { SessionStore } from "./rows/SessionStore.js"
import { toSession } from "./SessionView.js"
import { sessionBudgets } from "./usage/SessionBudgets.js"

/** The refusals of a new session and of its first message. */
export type CreateRefusal = Denied | Unbegun | Unpostable | RequestInvalid

/** The preparation and the inside of `Sessions.create`. A schema takes a while to check, so that comes before the commit. */
export const creation = Effect.gen(function* () {
  const checkInput = yield* makeCheckInput
  const access = yield* Access
  const sessions = yield* SessionStore
  const lifecycles = yield* SessionLifecycles
  const listeners = yield* SessionListeners
  const inbox = yield* Inbox
  const git = yield* Git
  const { sessionActions } = yield* configuredRules
  const budgets = yield* BudgetStore
  const limits = yield* sessionBudgets

  const inside = Effect.fnUntraced(function* (principal: Principal, workspaceId: string, input: SessionInput) {
    const role = yield* access.write(principal, workspaceId)
    yield* checkPosted(git, ["body", "repository"], input.repository)
    const shown = (row: SessionRow) => toSession(row, sessionActions(principal, role, row))
    const anew = (row: SessionRow) => Effect.map(existingOf("session", sessions.find)(row.id), shown)
    const actor = actorOf(principal)
    const row = yield* lifecycles.begin(WorkspaceId.make(workspaceId), actor, input)
    if (input.budget !== undefined) {
      yield* limits.require(row, actor, input.budget)
      yield* budgets.set(row.id, input.budget)
    }
    const waits = input.prewarm === false ? Effect.void : listeners.begun(row)
    if (input.message === undefined) {
      yield* waits
      return input.budget === undefined ? shown(row) : yield* anew(row)
    }
    const { at, message } = firstOf(input.message)
    const sent = yield* inbox.accept(row, actor, message, { at })
    if (sent.turn_id === undefined) yield* waits
    return {
      ...(yield* anew(row)),
      ...(sent.turn_id !== undefined && { turn_id: sent.turn_id }),
      ...(sent.operation !== undefined && { operation: sent.operation })
    }
  })

  return (principal: Principal, workspaceId: string, input: SessionInput) =>
    Effect.as(checkInput(input), inside(principal, workspaceId, input))
})

/** The first message as any other one, and where the body holds its content. */
const firstOf = (given: NonNullable<SessionInput["message"]>) =>
  typeof given === "object" && "content" in given
    ? { message: given, at: ["message", "content"] }
    : { message: { content: given }, at: ["message"] }
