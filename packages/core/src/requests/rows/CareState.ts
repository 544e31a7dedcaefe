import { Schema } from "effect"

export const CareState = Schema.Literal("watching", "working", "handed_over", "ended").annotations({
  identifier: "CareState",
  description:
    "`working`: a turn, or the delivery of what it has made, is under way. `handed_over`: a person has to go on."
})
export type CareState = typeof CareState.Type
