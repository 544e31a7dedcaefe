import { Schema } from "effect"

export const MergeMethod = Schema.Literal("merge", "squash", "rebase").annotations({
  description: "The ways to merge. A forge may lack some."
})
export type MergeMethod = typeof MergeMethod.Type
