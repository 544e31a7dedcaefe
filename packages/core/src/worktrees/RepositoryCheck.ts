import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { extension, idPath, read } from "../domain/Endpoint.js"
import { field } from "../domain/Field.js"

export const RepositoryState = Schema.Literal(
  "found",
  "ref_not_found",
  "not_found",
  "auth_required",
  "refused",
  "unavailable"
).annotations({
  description:
    "`refused` means that this service contacts no such address, and `unavailable` that the remote gave no answer that helps. A session may still start then."
})

export const RepositoryCheck = Schema.Struct({
  url: field(Schema.String, "The URL that was asked."),
  state: field(RepositoryState, "The answer of the remote, in a word."),
  ref: field(
    Schema.NullOr(Schema.String),
    "The branch, tag or commit that a session would start from; null unless it was found."
  ),
  commit: field(
    Schema.NullOr(Schema.String),
    "The commit that it leads to now; null unless it was found, and for an empty repository."
  ),
  message: field(Schema.NullOr(Schema.String), "The reason in a sentence; null where the repository was found.")
}).annotations({
  identifier: "RepositoryCheck",
  description: "The answer of a repository before a session starts from it."
})
export type RepositoryCheck = typeof RepositoryCheck.Type

export const RepositoryQuery = Schema.Struct({
  url: field(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2000)), "The URL of the repository."),
  ref: field(
    Schema.optionalWith(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)), { exact: true }),
    "A branch, a tag or a full commit id; the default branch when absent."
  )
})
export type RepositoryQuery = typeof RepositoryQuery.Type

export class RepositoriesApi extends HttpApiGroup.make("workspaces").add(
  read(
    "getRepository",
    "/api/workspaces/:workspace_id/repository",
    "Ask a repository whether a session could start from it, without a credential",
    "write"
  )
    .setPath(idPath("workspace_id"))
    .setUrlParams(RepositoryQuery)
    .addSuccess(RepositoryCheck)
    .annotateContext(extension)
) {}
