import type { SessionUpdate } from "@agentclientprotocol/sdk"
import type { Reins, TypedEvent, Usage } from "@reins/client"

/** The context and the cost of a session, as its log tells them. A figure that nobody has told is left out. */
export class UsageUpdates {
  private context: { readonly used: number; readonly size: number } | undefined

  /** @param spent The dollars that the turns before have cost together; null where one of them is unknown. */
  constructor(private spent: number | null) {}

  readonly take = (event: TypedEvent): ReadonlyArray<SessionUpdate> => {
    switch (event.type) {
      case "usage.observed": {
        const { context_size: size, context_used: used, usage } = event.payload
        if (size !== null && used !== null) this.context = { used, size }
        return this.shown(sumOf(this.spent, costOf(usage)))
      }
      case "turn.succeeded":
      case "turn.failed":
      case "turn.cancelled":
      case "turn.interrupted":
        this.spent = sumOf(this.spent, costOf(event.payload.turn.usage))
        return this.shown(this.spent)
      default:
        return []
    }
  }

  /** The protocol has no cost without a context. */
  private shown(amount: number | null): ReadonlyArray<SessionUpdate> {
    if (this.context === undefined) return []
    const cost = amount === null ? {} : { cost: { amount, currency: "USD" } }
    return [{ sessionUpdate: "usage_update", ...this.context, ...cost }]
  }
}

const sumOf = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other

/** The cost of a turn; null where a part of it has no price. A turn that has used nothing costs nothing. */
const costOf = ({ calls, cost_usd, priced_calls, reported_calls, source }: Usage): number | null => {
  if (cost_usd === null) return calls === 0 && source === null ? 0 : null
  return priced_calls < reported_calls ? null : cost_usd
}

/** The dollars that a session has cost so far; null where a part of them is unknown. */
export const spentOn = async (reins: Reins, session_id: string): Promise<number | null> => {
  const { cost_usd, priced_turns, turns } = (await reins.sessions.getUsage({ session_id })).total
  if (turns === 0) return 0
  return priced_turns < turns ? null : cost_usd
}
