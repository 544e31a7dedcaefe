import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, patch, post, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { InstalledFrom, installed, installedCredentials } from "@reins/base/domain/Installed"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { Connection, ConnectionState } from "./Connection.js"
import { ConnectionCapabilities, ConnectionValidation } from "./ConnectionValidation.js"
import { Prices } from "./Prices.js"

const Label = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
/** The fields depend on the kind of the connection; each is checked under `body.credential`. */
const Credential = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  [InstalledFrom]: installedCredentials
})

export const ConnectionInput = Schema.Struct({
  kind: field(installed("connection_kinds"), "What it connects to. It decides the fields of the credential."),
  label: field(Label, "A name for people."),
  credential: field(
    Credential,
    "The credential. Its fields depend on the kind, and secrets among them never come back."
  ),
  prices: field(optional(Prices), "What the models of its gateway cost; absent for unknown prices.")
}).annotations({ identifier: "ConnectionInput", description: "A connection to be." })
export type ConnectionInput = typeof ConnectionInput.Type

export const ConnectionPatch = Schema.Struct({
  label: field(optional(Label), "The new name."),
  state: field(
    optional(ConnectionState.pipe(Schema.pickLiteral("active", "disabled"))),
    "`disabled` lets nothing use the connection until it is `active` again."
  ),
  preferred_model: field(
    Schema.optionalWith(Schema.NullOr(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))), {
      exact: true
    }),
    "The model of sessions that select none; null for no preference."
  ),
  prices: field(
    Schema.optionalWith(Schema.NullOr(Prices), { exact: true }),
    "What its models cost from the next turn on, in place of all prices before; null for unknown prices."
  ),
  expected_version: field(
    optional(Schema.Int),
    "The version that the change is meant for; another one is answered with `version_conflict`."
  )
}).annotations({ identifier: "ConnectionPatch", description: "What is to change. Absent fields stay as they are." })
export type ConnectionPatch = typeof ConnectionPatch.Type

export const CredentialVersionInput = Schema.Struct({
  credential: field(Credential, "The whole new credential. Its fields depend on the kind of the connection."),
  expected_version: field(
    optional(Schema.Int),
    "The version of the connection that the change is meant for; another one is answered with `version_conflict`."
  )
}).annotations({ identifier: "CredentialVersionInput", description: "The credential from now on." })
export type CredentialVersionInput = typeof CredentialVersionInput.Type

export const ValidationAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  validation: field(ConnectionValidation, "The validation as it is now.")
}).annotations({ identifier: "ValidationAnswer", description: "The validation, and the operation that works on it." })
export type ValidationAnswer = typeof ValidationAnswer.Type

export class ConnectionsApi extends HttpApiGroup.make("connections")
  .add(
    read("list", "/api/workspaces/:workspace_id/connections", "List the connections of a workspace")
      .setPath(idPath("workspace_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ConnectionList", Connection))
      .annotateContext(extension)
  )
  .add(
    post(
      "create",
      "/api/workspaces/:workspace_id/connections",
      "Create a connection; its credential never comes back",
      "admin"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(ConnectionInput)
      .addSuccess(withStatus(Connection, 201))
      .annotateContext(extension)
  )
  .add(
    read("get", "/api/connections/:connection_id", "Read a connection")
      .setPath(idPath("connection_id"))
      .addSuccess(Connection)
  )
  .add(
    patch("update", "/api/connections/:connection_id", "Change a connection")
      .setPath(idPath("connection_id"))
      .setPayload(ConnectionPatch)
      .addSuccess(Connection)
  )
  .add(
    remove("disconnect", "/api/connections/:connection_id", "Revoke a connection and destroy its credentials", "admin")
      .setPath(idPath("connection_id"))
      .addSuccess(Connection)
  )
  .add(
    post(
      "replaceCredential",
      "/api/connections/:connection_id/credential-versions",
      "Replace the credential with a new version",
      "admin"
    )
      .setPath(idPath("connection_id"))
      .setPayload(CredentialVersionInput)
      .addSuccess(withStatus(Connection, 201))
  )
  .add(
    read(
      "listCapabilities",
      "/api/connections/:connection_id/capabilities",
      "What was observed of a connection, and when"
    )
      .setPath(idPath("connection_id"))
      .addSuccess(ConnectionCapabilities)
  )
  .add(
    read("listValidations", "/api/connections/:connection_id/validations", "List the validations of a connection")
      .setPath(idPath("connection_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ConnectionValidationList", ConnectionValidation))
  )
  .add(
    post("validate", "/api/connections/:connection_id/validations", "Check the current credential of a connection")
      .setPath(idPath("connection_id"))
      .addSuccess(ValidationAnswer)
  ) {}
