import { Schema } from "effect"
import { field } from "./Field.js"

export const RepositoryFilter = Schema.Struct({
  filter: field(Schema.String, "The name of the filter, as in `lfs` for Git LFS."),
  files: field(Schema.Int, "The number of files that it covers.")
}).annotations({
  identifier: "RepositoryFilter",
  description:
    "A filter that the attributes of a repository name. Reins runs none, so the agent sees what the repository stores."
})
export type RepositoryFilter = typeof RepositoryFilter.Type
