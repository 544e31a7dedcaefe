import type { ModelUsage, UsageSum } from "@reins/client"
import type { ComponentChildren } from "preact"
import { agentName } from "../agents/AgentNames.js"
import { count, dollars, tokens } from "../words/Words.js"

/** The usage of one thing. */
export interface UsageRow {
  readonly key: string
  readonly name: ComponentChildren
  readonly sum: UsageSum
}

/** The usage of each model. */
export const modelRows = (byModel: ReadonlyArray<ModelUsage>): ReadonlyArray<UsageRow> =>
  byModel.map((sum) => {
    const model = sum.model ?? "no model"
    return { key: `${sum.provider_id} ${model}`, name: `${agentName(sum.provider_id)} · ${model}`, sum }
  })

/** The usage by one thing each, and in all. */
export const UsageTable = ({
  by,
  rows,
  total
}: {
  /** The heading of the things. */
  readonly by: string
  readonly rows: ReadonlyArray<UsageRow>
  readonly total: UsageSum
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
  <section class="table" aria-label={`Usage by ${by.toLowerCase()}`} tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th>{by}</th>
          <th>Turns</th>
          <th>Input</th>
          <th>Cached</th>
          <th>Output</th>
          <th>Cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, name, sum }) => (
          <Row key={key} name={name} sum={sum} />
        ))}
      </tbody>
      <tfoot>
        <Row name="All" sum={total} />
      </tfoot>
    </table>
  </section>
)

const Row = ({ name, sum }: { readonly name: ComponentChildren; readonly sum: UsageSum }) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{sum.turns}</td>
    <td>{tokens(sum.input_tokens)}</td>
    <td>{tokens(sum.cached_tokens)}</td>
    <td>{tokens(sum.output_tokens)}</td>
    <td>{dollars(sum.cost_usd)}</td>
  </tr>
)

/** The words for a sum that is not whole. */
export const Gaps = ({ total }: { readonly total: UsageSum }) => {
  const { priced_turns, reported_turns, turns } = total
  if (turns === reported_turns && turns === priced_turns) return null
  return (
    <p class="fine">
      {reported_turns} of {count(turns, "turn")} reported {turns === 1 ? "its" : "their"} usage;{" "}
      {count(priced_turns, "turn")} {priced_turns === 1 ? "has" : "have"} a price.{" "}
      <a href="connections">Set prices in Connections</a>
    </p>
  )
}
