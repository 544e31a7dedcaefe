import type { ModelUsage, UsageSum } from "@reins/client"
import type { ComponentChildren } from "preact"
import { agentName } from "../agents/AgentNames.js"
import { mayWrite } from "../inbox/Workspace.js"
import { count, day, dollars, tokens } from "../words/Words.js"

/** The usage of one thing. */
export interface UsageRow {
  readonly key: string
  readonly name: ComponentChildren
  readonly sum: UsageSum
  /** The model of the usage, where it is of one. */
  readonly of?: ModelUsage
}

/** The usage of each model. */
export const modelRows = (byModel: ReadonlyArray<ModelUsage>): ReadonlyArray<UsageRow> =>
  byModel.map((sum) => {
    const model = sum.model ?? "no model"
    return { key: `${sum.provider_id} ${model}`, name: `${agentName(sum.provider_id)} · ${model}`, sum, of: sum }
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
        {rows.map(({ key, name, of, sum }) => (
          <Row key={key} name={name} sum={sum} of={of} />
        ))}
      </tbody>
      <tfoot>
        <Row name="All" sum={total} />
      </tfoot>
    </table>
  </section>
)

const Row = ({
  name,
  of,
  sum
}: {
  readonly name: ComponentChildren
  readonly sum: UsageSum
  readonly of?: ModelUsage | undefined
}) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{sum.turns}</td>
    <td>{tokens(sum.input_tokens)}</td>
    <td>{tokens(sum.cached_tokens)}</td>
    <td>{tokens(sum.output_tokens)}</td>
    <td>
      <Cost of={sum} model={of} />
    </td>
  </tr>
)

/** A cost. A part that goes by list prices says so, and an unknown one leads to where a price is set. */
const Cost = ({
  model,
  of: { cost_usd, list_cost_usd }
}: {
  readonly of: UsageSum
  readonly model: ModelUsage | undefined
}) => {
  const price = model?.list_price ?? null
  return (
    <>
      {(cost_usd !== null || list_cost_usd === null) && <span>{dollars(cost_usd)}</span>}
      {list_cost_usd !== null && (
        <span class="listed-cost">
          {dollars(list_cost_usd)}{" "}
          {price === null ? (
            <small>list price</small>
          ) : (
            <small>
              <a href={price.source} target="_blank" rel="noreferrer" title={`As published on ${day(price.date)}`}>
                list price
              </a>
            </small>
          )}
        </span>
      )}
      {model !== undefined && cost_usd === null && mayWrite.value && (
        <a class="set-price" href={priceLink(model)}>
          Set a price
        </a>
      )}
    </>
  )
}

/** Leads to the form of the connection that the model is used with. */
const priceLink = ({ model, provider_id }: ModelUsage): string =>
  `connections?${new URLSearchParams({ provider: provider_id, price: model ?? "*" })}`

/** The words for a sum that is not whole. */
export const Gaps = ({ total }: { readonly total: UsageSum }) => {
  const { list_priced_turns, priced_turns, reported_turns, turns } = total
  if (turns === reported_turns && turns === priced_turns) return null
  return (
    <p class="fine">
      {reported_turns} of {count(turns, "turn")} reported {turns === 1 ? "its" : "their"} usage;{" "}
      {count(priced_turns, "turn")} {priced_turns === 1 ? "has" : "have"} a price.{" "}
      {list_priced_turns > 0 &&
        `${count(list_priced_turns, "turn")} ${list_priced_turns === 1 ? "goes" : "go"} by list prices, which are estimates: your connection can cost something else, and no budget counts them. `}
      <a href="connections">Set prices in Connections</a>
    </p>
  )
}
