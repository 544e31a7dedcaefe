import { Effect } from "effect"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { ModelCall } from "../connections/ModelCall.js"
import type { Prices } from "../domain/Prices.js"
import { chargeOf } from "../sessions/Charges.js"
import { modelCallStore } from "../sessions/ModelCallStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { BudgetGate } from "./BudgetGate.js"
import type { TurnWork } from "./TurnWork.js"

/** Keeps model calls of a turn that have ended, and charges the budgets that they count for in the same commit. */
export const keptCalls = Effect.gen(function* () {
  const budgets = yield* BudgetStore
  const store = modelCallStore(yield* Database)

  return Effect.fnUntraced(function* (
    { session, turn }: Pick<TurnWork, "session" | "turn">,
    { gate, prices }: { readonly gate: Pick<BudgetGate, "subjects">; readonly prices: Prices },
    calls: ReadonlyArray<ModelCall>
  ): Effect.fn.Return<void, never, Commit> {
    yield* store.add(session, turn, calls, prices)
    const settled = calls.map((call) => ({
      admission: call.admission,
      charge: chargeOf(call, turn.settings.model, prices)
    }))
    yield* budgets.settle(gate.subjects, settled)
  })
})
