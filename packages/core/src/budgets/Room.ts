import { BudgetStore } from "./BudgetStore.js"

/** The limits and the spending of model calls. */
export const budgets = {
  name: "budgets",
  layer: BudgetStore.layer
} as const
