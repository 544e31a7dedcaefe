import { Effect } from "effect"
import type { TurnId } from "../../domain/Ids.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import type { Interaction } from "../Interaction.js"

export const interactionRows = Effect.map(Database, (db) => {
  const sql = db.sql
  const find = (id: string) =>
    Effect.map(db.first(sql<InteractionRow>`select * from interactions where id = ${id}`), (row) =>
      row === undefined ? undefined : toInteraction(row)
    )
  return {
    find,
    existing: existingOf("interaction", find),
    pendingOf: (turnId: TurnId) =>
      Effect.map(
        db.all(
          sql<InteractionRow>`select * from interactions where turn_id = ${turnId} and state = 'pending' order by id`
        ),
        (pending) => pending.map(toInteraction)
      )
  }
})

export interface InteractionRow extends Omit<Interaction, "options" | "default" | "form" | "content"> {
  readonly options: string
  readonly form: string | null
  readonly content: string | null
  readonly default_option: string | null
}

export const toInteraction = ({ content, default_option, form, options, ...row }: InteractionRow): Interaction => ({
  ...row,
  form: form === null ? null : JSON.parse(form),
  content: content === null ? null : JSON.parse(content),
  options: JSON.parse(options),
  default: default_option
})
