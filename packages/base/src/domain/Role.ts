import { Schema } from "effect"

export const Role = Schema.Literal("owner", "member", "viewer").annotations({
  description:
    "An `owner` or a `member` may write, a `viewer` may only read. Owners choose the members of the workspace."
})
export type Role = typeof Role.Type
