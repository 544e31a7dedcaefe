import { Effect, Layer } from "effect"
import { LookSequel } from "../looks/LookSequel.js"
import { makeAdvance } from "./Advance.js"
import { makeConditionReads } from "./ConditionReads.js"

/** Has each look decide on the merge conditions of its merge request. */
export const layer = Layer.effect(
  LookSequel,
  Effect.gen(function* () {
    const readForge = yield* makeConditionReads
    const { afterFailure, afterLook } = yield* makeAdvance
    return LookSequel.of({
      prepare: (forge, request, view, writers) =>
        Effect.map(readForge(forge, request, view, writers), (seen) => afterLook(request.id, seen)),
      missed: afterFailure
    })
  })
)
