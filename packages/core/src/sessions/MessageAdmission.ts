import { CoreConfig } from "@reins/base/base/CoreConfig"
import { requireAll } from "@reins/base/domain/Condition"
import type { Actor } from "@reins/base/domain/Event"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import type { BudgetInput } from "../budgets/Budget.js"
import { Providers, type Unrunnable } from "../catalog/Providers.js"
import type { MessageTools } from "./functions/FunctionTool.js"
import { makeToolQuota } from "./functions/ToolQuota.js"
import type { ContentBlock, Message } from "./rows/Message.js"
import { Quotas } from "./rows/Quotas.js"
import { notOpen } from "./rows/Refusals.js"
import type { SessionRow } from "./rows/SessionRow.js"
import { configuredRules, queueRoom } from "./rows/SessionRules.js"
import type { ResultSchema } from "./rows/TurnResult.js"
import { Steering } from "./turns/Steering.js"
import { sessionBudgets } from "./usage/SessionBudgets.js"

/** The content of a message with its files looked up. */
export interface Posting {
  readonly content: string | ReadonlyArray<ContentBlock>
  /** `queue` where it is left out. */
  readonly routing?: Message["routing"] | undefined
  /** The limits of what the turn of the message spends; it has none of its own where this is left out. */
  readonly budget?: BudgetInput | undefined
  /** The schema of the result that the turn has to give; it gives none where this is left out. It was checked before. */
  readonly resultSchema?: ResultSchema | undefined
  /** The functions that the turn adds to those of the session. Their schemas were checked before. */
  readonly tools?: MessageTools | undefined
}

/** The refusals of a message: the session, the content, the provider or the queue does not take it. */
export type Unpostable =
  | Unrunnable
  | ReinsError<
      | "invalid_transition"
      | "payload_too_large"
      | "provider_disabled"
      | "unsupported_capability"
      | "context_unavailable"
      | "model_required"
      | "quota_exhausted"
      | "budget_unenforceable"
    >

/**
 * Refuses a message that a session does not take. Gives the turn under way that the message is to reach, and undefined for a message that gets a
 * turn of its own or none.
 */
export const admission = Effect.gen(function* () {
  const providers = yield* Providers
  const quotas = yield* Quotas
  const limits = yield* sessionBudgets
  const toolQuota = yield* makeToolQuota
  const { messageCharacters, queuedTurns } = (yield* CoreConfig).limits
  const steering = yield* Steering
  const { asking } = yield* configuredRules
  const room = queueRoom(queuedTurns)

  return Effect.fnUntraced(function* (
    session: SessionRow,
    actor: Actor,
    { budget, content, routing, tools }: Posting & Required<Pick<Posting, "routing">>
  ) {
    const isOwnNote = actor.kind === "system" && routing === "note" && session.lifecycle === "archived"
    if (session.lifecycle !== "open" && !isOwnNote) return yield* notOpen(session)
    if (actor.kind !== "system") yield* checkLength(content, messageCharacters)
    if (routing === "steer" || routing === "interrupt") yield* providers.requireCapability(session.provider_id, routing)
    if (tools !== undefined) {
      yield* providers.requireTools(session.provider_id)
      yield* toolQuota(session, tools.functions)
    }
    if (routing !== "note") {
      yield* providers.requireRunnable(session.workspace_id, session.provider_id, session.connection_id)
      yield* requireAll(asking, session)
      yield* limits.require(session, actor, budget)
      if (actor.kind !== "system") yield* quotas.disk(session.workspace_id)
    }
    const into = routing === "steer" || routing === "interrupt" ? steering.turnOf(session) : undefined
    if (into !== undefined) yield* requireAll([room], session)
    return into
  })
})

/** The schema knows the most that any installation takes; this installation may take less. */
const checkLength = (
  content: Posting["content"],
  limit: number
): Effect.Effect<void, ReinsError<"payload_too_large">> => {
  const length =
    typeof content === "string"
      ? content.length
      : content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0)
  return length <= limit
    ? Effect.void
    : Effect.fail(
        new ReinsError({
          code: "payload_too_large",
          message: `A message may have ${limit} characters of text here; this one has ${length}. Send less, or a file.`,
          details: { limit_characters: limit, characters: length }
        })
      )
}
