import { useSignal } from "@preact/signals"
import type { Budget, BudgetInput } from "@reins/client"
import type { ComponentChildren } from "preact"
import { useAction, useLoaded } from "../api/Loading.js"
import { Await, Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Dialog } from "../ui/Dialog.js"
import { Form } from "../ui/Form.js"
import { budgetOf, limitsOf, nameOf, setBudget } from "./Budgets.js"
import { BudgetView } from "./BudgetView.js"

/** Sets, raises or ends the budget of a resource. */
export const BudgetForm = ({
  budget,
  done,
  id
}: {
  readonly id: string
  readonly budget: Budget | null
  readonly done: () => void
}) => {
  const action = useAction()
  const set = (limits: BudgetInput | null) =>
    action.run("the budget", async () => {
      await setBudget(id, limits)
      done()
    })
  return (
    <Form
      of={action}
      send={(event) => {
        const limits = limitsOf(fieldsOf(event))
        if (limits !== undefined) void set(limits)
      }}
    >
      {budget !== null && <BudgetView budget={budget} />}
      <BudgetFields budget={budget} />
      <p class="spread">
        {budget === null ? (
          <span />
        ) : (
          <Confirm act={() => set(null)} ask="Without a budget nothing stops its model calls. Take it away?">
            Take the budget away
          </Confirm>
        )}
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          {budget === null ? "Set the budget" : "Change the budget"}
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

/** The fields of a budget: `tokens` and `cost`. */
export const BudgetFields = ({ budget }: { readonly budget: Budget | null }) => (
  <div class="columns">
    <Field label="Tokens in all" hint="Input and output together; empty for no limit.">
      <input name="tokens" type="number" min={1} step={1} inputMode="numeric" defaultValue={budget?.max_tokens ?? ""} />
    </Field>
    <Field label="US dollars in all" hint="By the prices of the connection; empty for no limit.">
      <input
        name="cost"
        type="number"
        min={0.000001}
        step="any"
        inputMode="decimal"
        defaultValue={budget?.max_cost_usd ?? ""}
      />
    </Field>
  </div>
)

/** The budget that a turn waits for, and a way to raise it, after which the turn goes on by itself. */
export const RaiseBudget = ({ children, id }: { readonly id: string; readonly children: ComponentChildren }) => {
  const isOpen = useSignal(false)
  const budget = useLoaded(`the budget of the ${nameOf(id)}`, () => budgetOf(id), [id])
  return (
    <Await of={budget}>
      {(value) => (
        <>
          {value !== null && <BudgetView budget={value} />}
          <p class="answers">
            <button type="button" class="primary" onClick={() => (isOpen.value = true)}>
              Raise the budget
            </button>
            {children}
          </p>
          {isOpen.value && (
            <Dialog title={`Raise the budget of the ${nameOf(id)}`} close={() => (isOpen.value = false)}>
              <BudgetForm
                id={id}
                budget={value}
                done={() => {
                  isOpen.value = false
                  budget.reload()
                }}
              />
            </Dialog>
          )}
        </>
      )}
    </Await>
  )
}
