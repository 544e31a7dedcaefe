import type { UsageGroup, UsageSum } from "@reins/client"

/** The figures that a chart can show. */
export const measures = {
  cost: { name: "Cost", of: ({ cost_usd, list_cost_usd }: UsageSum) => (cost_usd ?? 0) + (list_cost_usd ?? 0) },
  tokens: {
    name: "Tokens",
    of: ({ input_tokens, output_tokens }: UsageSum) => (input_tokens ?? 0) + (output_tokens ?? 0)
  }
} as const
export type Measure = keyof typeof measures

/** The part of a bar that one model has. */
export interface Part {
  readonly series: number
  readonly value: number
  /** The share of it that goes by list prices, from 0 to 1. */
  readonly listed: number
}

export interface Chart {
  /** The names of the models, the one with the most tokens first. The last one stands for all others where there are too many. */
  readonly series: ReadonlyArray<string>
  /** A bar for each day, also for days without use. */
  readonly days: ReadonlyArray<{ readonly day: string; readonly parts: ReadonlyArray<Part>; readonly total: number }>
  readonly highest: number
}

/** More colours than these are not told apart. */
const mostSeries = 5

/** More bars than these are not told apart. */
export const mostDays = 92

const dayMs = 86_400_000

/** The day so many days after another one, in UTC. */
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10)

/** The days from one to another, both inclusive; the last ones where they are too many. */
export const daysBetween = (from: string, to: string): ReadonlyArray<string> => {
  const count = Math.min(mostDays, Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1)
  return Array.from({ length: Math.max(0, count) }, (_, index) => dayAfter(to, index + 1 - count))
}

/** The bars of days, made of the usage by day and model. */
export const chartOf = (
  groups: ReadonlyArray<UsageGroup>,
  days: ReadonlyArray<string>,
  measure: Measure,
  nameOf: (group: UsageGroup) => string
): Chart => {
  const { of } = measures[measure]
  const shown = groups.filter(({ day }) => day !== undefined && days.includes(day))
  const totals = new Map<string, number>()
  for (const group of shown) totals.set(nameOf(group), (totals.get(nameOf(group)) ?? 0) + measures.tokens.of(group))
  // A model keeps its colour when the chart shows another figure.
  const ordered = [...totals].sort(([, one], [, other]) => other - one).map(([name]) => name)
  const isCut = ordered.length > mostSeries
  const series = isCut ? [...ordered.slice(0, mostSeries - 1), "other models"] : ordered
  const seriesOf = (group: UsageGroup) => Math.min(ordered.indexOf(nameOf(group)), series.length - 1)
  const bars = days.map((day) => {
    const parts = series.flatMap((_, index): ReadonlyArray<Part> => {
      const own = shown.filter((group) => group.day === day && seriesOf(group) === index)
      const value = own.reduce((sum, group) => sum + of(group), 0)
      if (value === 0) return []
      const listed = measure === "cost" ? own.reduce((sum, each) => sum + (each.list_cost_usd ?? 0), 0) / value : 0
      return [{ series: index, value, listed }]
    })
    return { day, parts, total: parts.reduce((sum, { value }) => sum + value, 0) }
  })
  return { series, days: bars, highest: Math.max(0, ...bars.map(({ total }) => total)) }
}

/** The cost up to each day, with that of the days before. */
export const costSoFar = (groups: ReadonlyArray<UsageGroup>, days: ReadonlyArray<string>): ReadonlyArray<number> => {
  let sum = 0
  return days.map((day) => {
    sum += groups.find((group) => group.day === day)?.cost_usd ?? 0
    return sum
  })
}
