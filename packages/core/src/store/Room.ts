import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { Idempotency } from "./Idempotency.js"
import { Journal } from "./Journal.js"
import { Readiness } from "./Readiness.js"

/** The database port, its engines, the journal, and the answers that are kept for retries. */
export const store = {
  name: "store",
  layer: Idempotency.layer.pipe(onTopOf(oneByOne(Journal.layer, Readiness.layer))),
  sweeps: { answers: Effect.map(Idempotency, ({ purge }) => purge) }
} as const
