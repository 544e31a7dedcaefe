import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, read } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ConnectionId } from "@reins/base/domain/Ids"
import { boolean } from "@reins/base/domain/Query"
import { Schema } from "effect"

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

export const AccessWay = Schema.Literal("app", "token", "ssh_key").annotations({
  description: "A credential that a connection can hold."
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
  message: field(Schema.NullOr(Schema.String), "The reason in a sentence; null where the repository was found."),
  connection_id: field(
    Schema.NullOr(ConnectionId),
    "The connection that the repository was asked with, which a session would take; null for none."
  ),
  host: field(
    Schema.NullOr(Schema.String),
    "The host that wants a credential, with its port where that is not the usual one; null where none would help."
  ),
  forge: field(
    Schema.NullOr(Schema.String),
    "The forge at that host, as a kind of connection; null where it is not known."
  ),
  ways: field(
    Schema.Array(AccessWay),
    "What opens the repository, the best first: an app of the forge, a token, or a key for SSH. Empty where no credential would help."
  )
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
  ),
  connection_id: field(
    Schema.optionalWith(ConnectionId, { exact: true }),
    "The connection to ask with. When absent, the one that a session would take."
  ),
  anonymous: field(Schema.optionalWith(boolean, { exact: true }), "True asks without a credential, as anybody could.")
})
export type RepositoryQuery = typeof RepositoryQuery.Type

export class RepositoriesApi extends HttpApiGroup.make("workspaces").add(
  read(
    "getRepository",
    "/api/workspaces/:workspace_id/repository",
    "Ask a repository whether a session could start from it",
    "write"
  )
    .setPath(idPath("workspace_id"))
    .setUrlParams(RepositoryQuery)
    .addSuccess(RepositoryCheck)
    .annotateContext(extension)
) {}
