import { Effect } from "effect"
import { Idempotency } from "./Idempotency.js"

/** The database port, its engines, the journal, and the answers that are kept for retries. */
export const store = {
  name: "store",
  sweeps: { answers: Effect.map(Idempotency, ({ purge }) => purge) }
} as const
