import type { TurnId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import type { Interaction } from "../rows/Interaction.js"

export const interactionRows = Effect.map(Database, (db) => {
  const sql = db.sql
  const find = (id: string) =>
    Effect.map(db.first(sql<InteractionRow>`select * from interactions where id = ${id}`), (row) =>
      row === undefined ? undefined : toInteraction(row)
    )
  return {
    find,
    existing: existingOf("interaction", find),
    /** The open ones of a turn: those that a retry takes over, those that it does not, or all. */
    pendingOf: (turnId: TurnId, which: "kept" | "unkept" | "all" = "all") =>
      Effect.map(
        db.all(
          sql<InteractionRow>`select * from interactions where turn_id = ${turnId} and state = 'pending' order by id`
        ),
        (pending) =>
          pending
            .filter(({ call_key }) => which === "all" || (call_key !== null) === (which === "kept"))
            .map(toInteraction)
      )
  }
})

export interface InteractionRow
  extends Omit<
    Interaction,
    "options" | "subject" | "default" | "form" | "content" | "tool" | "claim" | "result" | "blocks" | "is_error"
  > {
  readonly options: string
  readonly subject: string | null
  readonly form: string | null
  readonly content: string | null
  readonly default_option: string | null
  readonly tool: string | null
  readonly call_key: string | null
  readonly claim: string | null
  readonly result: string | null
  readonly is_error: number
}

export const toInteraction = ({
  call_key: _,
  claim,
  content,
  default_option,
  form,
  is_error,
  options,
  result,
  subject,
  tool,
  ...row
}: InteractionRow): Interaction => ({
  ...row,
  subject: subject === null ? null : JSON.parse(subject),
  tool: tool === null ? null : JSON.parse(tool),
  claim: claim === null ? null : claimOf(JSON.parse(claim)),
  result: result === null ? null : JSON.parse(result),
  is_error: is_error === 1,
  form: form === null ? null : JSON.parse(form),
  // An answer has values for a form, or blocks for a call.
  content: content === null || row.kind === "tool_call" ? null : JSON.parse(content),
  blocks: content === null || row.kind !== "tool_call" ? null : JSON.parse(content),
  options: JSON.parse(options),
  default: default_option
})

/** A claim as others see it. Only its holder knows its id. */
const claimOf = ({ holder, until }: NonNullable<Interaction["claim"]>): Interaction["claim"] => ({ holder, until })
