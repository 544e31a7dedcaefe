import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect } from "effect"
import { actorOf, type Denied } from "../access/Access.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { Providers } from "../catalog/Providers.js"
import { expectVersion } from "../store/Version.js"
import { repositoryMove } from "./creation/RepositoryMove.js"
import type { SessionPatch } from "./creation/SessionsApi.js"
import type { SeenSession, SessionRow, SessionUpdate } from "./rows/SessionRow.js"
import { sessionRules } from "./rows/SessionRules.js"
import { SessionStore } from "./rows/SessionStore.js"
import { sessionBudgets } from "./usage/SessionBudgets.js"

/** The refusals of a change of a session. */
export type UpdateRefusal =
  | Denied
  | ReinsError<
      | "invalid_transition"
      | "version_conflict"
      | "harness_switch_required"
      | "provider_disabled"
      | "unsupported_capability"
      | "budget_unenforceable"
      | "turn_active"
      | "delivery_unresolved"
    >
  | RequestInvalid

/** The inside of `Sessions.update`, for a session that the principal may change. */
export const makeUpdate = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const providers = yield* Providers
  const budgets = yield* BudgetStore
  const limits = yield* sessionBudgets
  const moveRepository = yield* repositoryMove

  return Effect.fnUntraced(function* (principal: Principal, row: SeenSession, patch: SessionPatch) {
    yield* expectVersion(row.version, patch.expected_version)
    if (patch.provider_id !== undefined && patch.provider_id !== row.provider_id)
      return yield* switchRequired(row, patch.provider_id)
    yield* requireAll(sessionRules.update, row)
    yield* providers.requirePermissions(row.provider_id, patch.permissions ?? undefined)
    const changed = { ...row, model: patch.model ?? row.model }
    const moved = yield* moveRepository(row, patch.repository)
    if (patch.budget) yield* limits.require(changed, actorOf(principal), patch.budget)
    if (patch.budget !== undefined) yield* budgets.set(row.id, patch.budget)
    return yield* sessions.update(row, { ...updateOf(patch), ...moved }, actorOf(principal))
  })
})

const updateOf = ({ auto_capture, labels, model, options, permissions, title }: SessionPatch): SessionUpdate => ({
  ...(title !== undefined && { title }),
  ...(labels !== undefined && { labels: JSON.stringify(labels) }),
  ...(model !== undefined && { model }),
  ...(options !== undefined && { options: options === null ? null : JSON.stringify(options) }),
  ...(permissions !== undefined && { permissions: permissions === null ? null : JSON.stringify(permissions) }),
  ...(auto_capture !== undefined && { auto_capture: auto_capture ? 1 : 0 })
})

const switchRequired = (row: SessionRow, providerId: string): ReinsError<"harness_switch_required"> =>
  new ReinsError({
    code: "harness_switch_required",
    message: `A session keeps its provider (${row.provider_id}). To go on with ${providerId}, create a new session with a summary.`,
    details: { provider_id: row.provider_id, requested: providerId }
  })
