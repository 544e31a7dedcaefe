import type { Budget } from "@reins/client"
import { useLoaded } from "../api/Loading.js"
import { Await } from "../ui/Basics.js"
import { day as dayInWords, dollars } from "../words/Words.js"
import { costSoFar, daysBetween } from "./Chart.js"
import { readDays } from "./DayChart.js"

const height = 100

/** The cost so far, day by day since the budget was set, against its limit in dollars. */
export const BudgetCourse = ({
  budget: { max_cost_usd, since, spent_cost_usd },
  workspaceId
}: {
  readonly workspaceId: string
  readonly budget: Budget
}) => {
  const [from, to] = [since.slice(0, 10), new Date().toISOString().slice(0, 10)]
  const usage = useLoaded(
    "the cost so far",
    (signal) => (max_cost_usd === null ? Promise.resolve([]) : readDays(workspaceId, "day", { from, to }, signal)),
    [workspaceId, from, to, max_cost_usd]
  )
  if (max_cost_usd === null) return null
  const days = daysBetween(from, to)
  return (
    <Await of={usage}>
      {(groups) => {
        const costs = costSoFar(groups, days)
        const top = Math.max(max_cost_usd, costs.at(-1) ?? 0)
        const y = (cost: number) => height - (cost / top) * (height - 4)
        const width = Math.max(1, days.length - 1) * 10
        // One day is a level line.
        const course = costs.length === 1 ? [...costs, ...costs] : costs
        const points = course.map((cost, index) => `${index * 10},${y(cost)}`).join(" ")
        return (
          <div class="bars course">
            <svg
              role="img"
              aria-label={`Cost of turns that have ended since ${dayInWords(from)}: ${dollars(costs.at(-1) ?? 0)} of ${dollars(max_cost_usd)}. All calls so far: ${dollars(spent_cost_usd)}.`}
              viewBox={`0 0 ${width} ${height}`}
              preserveAspectRatio="none"
            >
              <line class="limit" x1={0} x2={width} y1={y(max_cost_usd)} y2={y(max_cost_usd)} />
              <polyline points={points} />
            </svg>
            <p class="axis fine">
              <span>{dayInWords(from)}</span>
              <span>limit {dollars(max_cost_usd)}</span>
              <span>today</span>
            </p>
          </div>
        )
      }}
    </Await>
  )
}
