import type { Budget } from "@reins/client"
import { State } from "../ui/Basics.js"
import { count, day, dollars } from "../words/Words.js"

/** A budget with what is spent of it. */
export const BudgetView = ({ budget }: { readonly budget: Budget }) => {
  const { estimated_calls, exhausted, max_cost_usd, max_tokens, since, spent_cost_usd, spent_tokens } = budget
  const number = (tokens: number) => tokens.toLocaleString("en")
  return (
    <div class="budget">
      {max_tokens !== null && (
        <Spent share={spent_tokens / max_tokens} words={`${number(spent_tokens)} of ${number(max_tokens)} tokens`} />
      )}
      {max_cost_usd !== null && (
        <Spent
          share={(spent_cost_usd ?? 0) / max_cost_usd}
          words={`${spent_cost_usd === null ? "nothing known" : dollars(spent_cost_usd)} of ${dollars(max_cost_usd)}`}
        />
      )}
      <p class="fine">
        {exhausted && <State of="blocked" as="used up" />} since {day(since)}
        {estimated_calls > 0 &&
          `, with ${count(estimated_calls, "call")} counted by ${estimated_calls === 1 ? "its length" : "their lengths"}`}
      </p>
    </div>
  )
}

const Spent = ({ share, words }: { readonly share: number; readonly words: string }) => (
  <p class="spent">
    <progress class={share >= 1 ? "full" : ""} max={1} value={Math.min(1, share)} aria-label={`Spent: ${words}`} />
    <span>{words} spent</span>
  </p>
)
