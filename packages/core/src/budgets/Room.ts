import { BudgetStore } from "./BudgetStore.js"

/** What model calls may spend and have spent. */
export const budgets = {
  name: "budgets",
  layer: BudgetStore.layer
} as const
