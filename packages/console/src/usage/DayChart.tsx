import { useSignal } from "@preact/signals"
import type { UsageGroup } from "@reins/client"
import { agentName } from "../agents/AgentNames.js"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Field } from "../ui/Basics.js"
import { day as dayInWords, dollars, tokens } from "../words/Words.js"
import { type Chart, chartOf, dayAfter, daysBetween, type Measure, measures, mostDays } from "./Chart.js"

/** The days of a chart, both inclusive and in UTC. */
export interface Span {
  readonly from: string
  readonly to: string
}

/** The days that are asked for; thirty days until today without any. */
export const spanOf = (from: string, to: string): Span => {
  const end = to || new Date().toISOString().slice(0, 10)
  return { from: from || dayAfter(end, -29), to: end }
}

/** All usage of a span by day, or by day and model. */
export const readDays = async (
  workspace_id: string,
  group_by: "day" | "day_model",
  { from, to }: Span,
  signal: AbortSignal
): Promise<ReadonlyArray<UsageGroup>> => {
  const found: Array<UsageGroup> = []
  for (let cursor: string | undefined; ; ) {
    const page = { limit: 200, ...(cursor !== undefined && { cursor }) }
    const { groups, next_cursor } = await reins.workspaces.getUsage(
      { workspace_id, group_by, from, to, ...page },
      { signal }
    )
    found.push(...groups)
    if (next_cursor === null) return found
    cursor = next_cursor
  }
}

const modelOf = ({ model, provider_id = "" }: UsageGroup): string =>
  `${model ?? "no model"} · ${agentName(provider_id)}`

/** The cost or the tokens of each day, in the colours of the models. A table has the same figures. */
export const DayChart = ({
  from,
  to,
  workspaceId
}: {
  readonly workspaceId: string
  readonly from: string
  readonly to: string
}) => {
  const chosen = useSignal<Measure | undefined>(undefined)
  const span = spanOf(from, to)
  const days = daysBetween(span.from, span.to)
  const first = days[0] ?? span.from
  const usage = useLoaded(
    "the usage by day",
    (signal) => readDays(workspaceId, "day_model", { from: first, to: span.to }, signal),
    [workspaceId, first, span.to]
  )
  return (
    <Await of={usage}>
      {(groups) => {
        if (groups.length === 0) return null
        const hasCost = groups.some(({ cost_usd, list_cost_usd }) => cost_usd !== null || list_cost_usd !== null)
        const measure = chosen.value ?? (hasCost ? "cost" : "tokens")
        const chart = chartOf(groups, days, measure, modelOf)
        return (
          <section class="chart" aria-label="Usage by day and model">
            <div class="filters">
              <Field label="Chart of">
                <select
                  value={measure}
                  onChange={({ currentTarget }) => (chosen.value = currentTarget.value === "cost" ? "cost" : "tokens")}
                >
                  <option value="cost">Cost</option>
                  <option value="tokens">Tokens</option>
                </select>
              </Field>
            </div>
            {from !== "" && first !== from && <p class="fine">The chart shows the last {mostDays} of these days.</p>}
            <Bars chart={chart} measure={measure} />
            <Legend chart={chart} measure={measure} />
            <ChartTable chart={chart} measure={measure} />
          </section>
        )
      }}
    </Await>
  )
}

const format = (measure: Measure, value: number): string => (measure === "cost" ? dollars(value) : tokens(value))

const height = 160

const Bars = ({ chart: { days, highest }, measure }: { readonly chart: Chart; readonly measure: Measure }) => {
  const [first, last] = [days[0]?.day ?? "", days.at(-1)?.day ?? ""]
  const peak = days.find(({ total }) => total === highest)
  const label =
    `${measures[measure].name} by day from ${dayInWords(first)} to ${dayInWords(last)}. ` +
    (highest === 0 || peak === undefined
      ? "Nothing is known."
      : `The most is ${format(measure, highest)} on ${dayInWords(peak.day)}.`)
  return (
    <div class="bars">
      <span class="fine">{format(measure, highest)}</span>
      <svg role="img" aria-label={label} viewBox={`0 0 ${days.length * 10} ${height}`} preserveAspectRatio="none">
        {days.map(({ day, parts, total }, index) => (
          <g key={day}>
            <title>{`${dayInWords(day)}: ${format(measure, total)}`}</title>
            <Bar parts={parts} x={index * 10} scale={highest === 0 ? 0 : height / highest} />
          </g>
        ))}
      </svg>
      <p class="axis fine">
        <span>{dayInWords(first)}</span>
        <span>{dayInWords(last)}</span>
      </p>
    </div>
  )
}

const Bar = ({
  parts,
  scale,
  x
}: {
  readonly parts: Chart["days"][number]["parts"]
  readonly x: number
  readonly scale: number
}) => {
  let top = height
  return parts.map(({ listed, series, value }) => {
    const tall = value * scale
    top -= tall
    return (
      <g key={series} class={`series-${series}`}>
        <rect x={x + 1} y={top} width={8} height={tall * (1 - listed)} />
        {listed > 0 && <rect class="listed" x={x + 1} y={top + tall * (1 - listed)} width={8} height={tall * listed} />}
      </g>
    )
  })
}

const Legend = ({ chart: { days, series }, measure }: { readonly chart: Chart; readonly measure: Measure }) => (
  <ul class="legend">
    {series.map((name, index) => (
      <li key={name}>
        <svg class={`swatch series-${index}`} viewBox="0 0 10 10" aria-hidden="true">
          <rect width="10" height="10" />
        </svg>{" "}
        {name}
      </li>
    ))}
    {measure === "cost" && days.some(({ parts }) => parts.some(({ listed }) => listed > 0)) && (
      <li>
        <svg class="swatch series-x" viewBox="0 0 10 10" aria-hidden="true">
          <rect class="listed" width="10" height="10" />
        </svg>{" "}
        list price
      </li>
    )}
  </ul>
)

const ChartTable = ({ chart: { days, series }, measure }: { readonly chart: Chart; readonly measure: Measure }) => (
  <details>
    <summary>Show the chart as a table</summary>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys */}
    <section class="table" aria-label={`${measures[measure].name} by day and model`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th>Day</th>
            {series.map((name) => (
              <th key={name}>{name}</th>
            ))}
            <th>All</th>
          </tr>
        </thead>
        <tbody>
          {days
            .filter(({ total }) => total > 0)
            .map(({ day, parts, total }) => (
              <tr key={day}>
                <th scope="row">{dayInWords(day)}</th>
                {series.map((name, index) => {
                  const part = parts.find((each) => each.series === index)
                  return (
                    <td key={name}>
                      {part === undefined ? "–" : format(measure, part.value)}
                      {part !== undefined && part.listed > 0 && <small class="fine"> {listedWords(part.listed)}</small>}
                    </td>
                  )
                })}
                <td>{format(measure, total)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  </details>
)

const listedWords = (share: number): string => (share > 0.999 ? "list price" : "partly list price")
