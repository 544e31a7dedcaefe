import type { ModelUsage, UsageSum } from "@reins/client"
import { dollars, tokens } from "../words/Words.js"

/** The usage by model and in all. */
export const UsageTable = ({
  byModel,
  total
}: {
  readonly total: UsageSum
  readonly byModel: ReadonlyArray<ModelUsage>
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
  <section class="table" aria-label="Usage by model" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th>Model</th>
          <th>Turns</th>
          <th>Input</th>
          <th>of it cached</th>
          <th>Output</th>
          <th>Cost</th>
        </tr>
      </thead>
      <tbody>
        {byModel.map((each) => (
          <Row
            key={`${each.provider_id}/${each.model}`}
            name={`${each.provider_id} · ${each.model ?? "no model"}`}
            sum={each}
          />
        ))}
      </tbody>
      <tfoot>
        <Row name="All" sum={total} />
      </tfoot>
    </table>
  </section>
)

const Row = ({ name, sum }: { readonly name: string; readonly sum: UsageSum }) => (
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
      {reported_turns} of {turns} turns told what they used, and {priced_turns} have a price. The prices of models
      belong to the connection.
    </p>
  )
}
