import { Actor } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ArtifactId, SessionId, TurnId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const Artifact = Schema.Struct({
  id: field(ArtifactId, "The id of the artifact."),
  session_id: field(SessionId, "The session whose file it was."),
  turn_id: field(TurnId, "The turn whose agent published it."),
  title: field(Schema.String, "What it is, in a line."),
  path: field(Schema.String, "The path that the file had in the working tree."),
  media_type: field(
    Schema.String,
    "What the bytes are: an image, a PDF, text or `application/octet-stream`. The name of the file does not decide it."
  ),
  size: field(Schema.Int, "The size in bytes, at most `artifact_bytes` of `GET /api/limits`."),
  digest: field(Schema.String, "The digest of the content, `sha256:` and 64 hexadecimal digits."),
  created_by: field(Actor, "The agent that published it."),
  created_at: field(Timestamp, "The time at which it was published.")
}).annotations({
  identifier: "Artifact",
  description: "A file that an agent kept for people. Its content stays as it was when it was published."
})
export type Artifact = typeof Artifact.Type

/** The first and the last byte of a part of a content, counted from 0. */
export interface ContentPart {
  readonly first: number
  readonly last: number
}
