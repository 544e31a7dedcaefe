import { field } from "@reins/base/domain/Field"
import { SigningKeyId, WorkspaceId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const SigningKey = Schema.Struct({
  id: field(SigningKeyId, "The id of the key."),
  workspace_id: field(WorkspaceId, "The workspace whose commits it signs."),
  public_key: field(
    Schema.String,
    "The public half in OpenSSH's form, as in `ssh-ed25519 AAAA...`. A forge takes it as a signing key."
  ),
  fingerprint: field(Schema.String, "The fingerprint, as `ssh-keygen -l` shows it: `SHA256:...`."),
  created_at: field(Timestamp, "The time at which it was made.")
}).annotations({
  identifier: "SigningKey",
  description: "A key that signs the commits of a workspace. Its private half never leaves the service."
})
export type SigningKey = typeof SigningKey.Type
