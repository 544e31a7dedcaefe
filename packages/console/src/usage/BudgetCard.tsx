import { useSignal } from "@preact/signals"
import type { Budget } from "@reins/client"
import type { ComponentChildren } from "preact"
import { Dialog } from "../ui/Dialog.js"
import { BudgetForm } from "./BudgetForm.js"
import { nameOf } from "./Budgets.js"
import { BudgetView } from "./BudgetView.js"

/** The budget of a resource, and a way to set, raise or end it. */
export const BudgetCard = ({
  budget,
  changed,
  children,
  id,
  mayChange,
  none
}: {
  readonly id: string
  readonly budget: Budget | null
  readonly mayChange: boolean
  /** The sentence for a resource without a budget. */
  readonly none: string
  readonly changed: () => void
  /** More about the budget. */
  readonly children?: ComponentChildren
}) => {
  const isOpen = useSignal(false)
  const title = `Budget of the ${nameOf(id)}`
  return (
    <section class="budget-card" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {mayChange && (
          <button type="button" class="small" onClick={() => (isOpen.value = true)}>
            {budget === null ? "Set a budget" : "Change the budget"}
          </button>
        )}
      </div>
      {budget === null ? <p class="fine">{none}</p> : <BudgetView budget={budget} />}
      {children}
      {isOpen.value && (
        <Dialog title={title} close={() => (isOpen.value = false)}>
          <BudgetForm
            id={id}
            budget={budget}
            done={() => {
              isOpen.value = false
              changed()
            }}
          />
        </Dialog>
      )}
    </section>
  )
}
