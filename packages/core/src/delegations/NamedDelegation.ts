import { cutText } from "@reins/base/base/CutText"
import { Effect, Option, Schema } from "effect"
import { ToolFailed, type ToolTurn } from "../tools/Tool.js"
import { DelegationStore } from "./DelegationStore.js"
import { Delegations } from "./Delegations.js"
import { Waits } from "./Waits.js"

export const text = (description: string) => Schema.String.pipe(Schema.minLength(1)).annotations({ description })
export const optionalInput = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

export const DelegationName = text("The delegation_id of a delegation of this session, or its name.")

/** Finds a delegation of the session by its id or its name. */
export const makeFind = Effect.gen(function* () {
  const delegations = yield* Delegations
  const store = yield* DelegationStore
  return Effect.fnUntraced(function* ({ principal, session }: ToolTurn, named: string) {
    const found = named.startsWith("del_") ? undefined : yield* store.findNamed(session.id, named)
    const delegation = yield* Effect.option(delegations.get(principal, found?.id ?? named))
    if (Option.isSome(delegation) && delegation.value.session_id === session.id) return delegation.value
    return yield* new ToolFailed({
      message: `This session has no delegation ${JSON.stringify(cutText(named, 100))}. Delegate the work first, or give the delegation_id of an answer.`
    })
  })
})

/** The fields of a tool that works on changes. */
export const changesFields = {
  changeset_id: optionalInput(text("The changeset, as the result of a delegation names it.")),
  delegation_id: optionalInput(
    DelegationName.annotations({ description: "The delegation whose result has the changes, or its name." })
  )
}

/** Finds the changeset that a call names. */
export const makeChangesOf = Effect.gen(function* () {
  const find = yield* makeFind
  const waits = yield* Waits
  return Effect.fnUntraced(function* (
    turn: ToolTurn,
    { changeset_id, delegation_id }: { readonly changeset_id?: string; readonly delegation_id?: string }
  ) {
    const resultOf = (named: string) =>
      Effect.flatMap(find(turn, named), ({ id }) => waits.wait(turn.principal, id, { timeout_seconds: 0 }))
    const id = changeset_id ?? (delegation_id && (yield* resultOf(delegation_id)).result?.changeset_id)
    if (typeof id === "string") return id
    return yield* new ToolFailed({
      message: "There are no changes. Give a changeset_id, or a delegation whose result has one."
    })
  })
})
