import { Schema } from "effect"

export const UploadPlace = Schema.Literal("workspace", "attachment").annotations({
  identifier: "UploadPlace",
  description:
    "`workspace` is a file in the working tree. `attachment` is a file beside it, which the agent can read and no changeset holds."
})
export type UploadPlace = typeof UploadPlace.Type
