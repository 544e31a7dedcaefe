import { useSignal } from "@preact/signals"
import type { Connection, ConnectionsReplaceCredentialInput, ModelPrice } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { CredentialInput } from "./ConnectionForm.js"
import { connectionKinds, credentialOf } from "./ConnectionKinds.js"

/** Gives a connection another credential. The one before is used by nothing from then on. */
export const CredentialForm = ({
  connection: { id, kind, settings },
  done
}: {
  readonly connection: Connection
  readonly done: () => void
}) => {
  const action = useAction()
  const fields = connectionKinds[kind]?.fields ?? []
  return (
    <Form
      of={action}
      send={(event) => {
        const given = fieldsOf(event)
        // Boundary: the fields of a kind are data here, and the server checks them.
        const input = {
          connection_id: id,
          credential: credentialOf(fields, given)
        } as unknown as ConnectionsReplaceCredentialInput
        void action.run("the credential", async () => {
          await reins.connections.replaceCredential(input)
          done()
        })
      }}
    >
      <p class="fine">Enter the whole credential again. Running turns keep the one that they have.</p>
      {fields.map((field) => (
        <CredentialInput key={field.name} field={field} given={settings[field.name]} />
      ))}
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Replace the credential
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

interface PriceRow {
  readonly model: string
  readonly price: { readonly [Name in keyof ModelPrice]?: string }
}

const priced = [
  { name: "input", label: "Input" },
  { name: "cached", label: "Cached" },
  { name: "output", label: "Output" }
] as const

/** Changes the name of a connection, the model that it prefers, and what its models cost. */
export const ConnectionChange = ({
  connection: { id, label, preferred_model, prices },
  done,
  isGateway,
  priceOf
}: {
  readonly connection: Connection
  /** A model whose price is to be set. */
  readonly priceOf?: string | undefined
  /** True for a gateway, which has models. */
  readonly isGateway: boolean
  readonly done: () => void
}) => {
  const action = useAction()
  const rows = useSignal<ReadonlyArray<PriceRow>>(withRowFor(priceOf, rowsOf(prices)))
  const change = (at: number, next: PriceRow) => {
    rows.value = rows.value.map((row, place) => (place === at ? next : row))
  }
  return (
    <Form
      of={action}
      send={(event) => {
        const { label = "", preferred_model = "" } = fieldsOf(event)
        void action.run("the connection", async () => {
          await reins.connections.update({
            connection_id: id,
            label,
            ...(isGateway && { preferred_model: preferred_model || null, prices: pricesOf(rows.value) })
          })
          done()
        })
      }}
    >
      <Field label="Label">
        <input name="label" required defaultValue={label} />
      </Field>
      {isGateway && (
        <>
          <Field label="Preferred model" hint="For sessions that choose none.">
            <input name="preferred_model" defaultValue={preferred_model ?? ""} />
          </Field>
          <fieldset class="part">
            <legend>Prices</legend>
            <p class="fine">
              US dollars for a million tokens. Costs are known, and budgets in dollars hold, only with them.
            </p>
            {rows.value.map(({ model, price }, at) => (
              <div class="spec-row price" key={`${rows.value.length}.${at}`}>
                <Field label="Model">
                  <input
                    required
                    value={model}
                    placeholder="* for every other"
                    onInput={({ currentTarget }) => change(at, { model: currentTarget.value, price })}
                  />
                </Field>
                {priced.map(({ label, name }) => (
                  <Field key={name} label={label}>
                    <input
                      type="number"
                      min={0}
                      step="any"
                      inputMode="decimal"
                      required={name !== "cached"}
                      autofocus={name === "input" && model === priceOf}
                      value={price[name] ?? ""}
                      onInput={({ currentTarget }) =>
                        change(at, { model, price: { ...price, [name]: currentTarget.value } })
                      }
                    />
                  </Field>
                ))}
                <button
                  type="button"
                  class="icon"
                  aria-label={`Leave out the price of ${model}`}
                  onClick={() => (rows.value = rows.value.filter((_, place) => place !== at))}
                >
                  ×
                </button>
              </div>
            ))}
            <button
              type="button"
              class="small"
              onClick={() => (rows.value = [...rows.value, { model: rows.value.length === 0 ? "*" : "", price: {} }])}
            >
              Add a price
            </button>
          </fieldset>
        </>
      )}
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Save
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

const rowsOf = (prices: Connection["prices"]): ReadonlyArray<PriceRow> =>
  Object.entries(prices ?? {}).map(([model, price]) => {
    // Boundary: the document names the shape of a price, and the generated type of the record does not.
    const entries = Object.entries(price as ModelPrice).map(([name, dollars]) => [name, String(dollars)])
    return { model, price: Object.fromEntries(entries) }
  })

const withRowFor = (model: string | undefined, rows: ReadonlyArray<PriceRow>): ReadonlyArray<PriceRow> =>
  model === undefined || rows.some((row) => row.model === model) ? rows : [...rows, { model, price: {} }]

const pricesOf = (rows: ReadonlyArray<PriceRow>): Readonly<Record<string, ModelPrice>> | null =>
  rows.length === 0
    ? null
    : Object.fromEntries(
        rows.map(({ model, price: { cached = "", cache_write = "", input, output } }) => [
          model,
          {
            input: Number(input),
            output: Number(output),
            ...(cached !== "" && { cached: Number(cached) }),
            ...(cache_write !== "" && { cache_write: Number(cache_write) })
          }
        ])
      )
