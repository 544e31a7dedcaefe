import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ArtifactId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { Artifact } from "./Artifact.js"

const PublishedArtifact = Schema.Struct({
  artifact: field(Artifact, "The artifact that was published, without its content.")
}).annotations({
  identifier: "PublishedArtifact",
  description: "An artifact that was published."
})

const DeletedArtifact = Schema.Struct({
  artifact_id: field(ArtifactId, "The id that the artifact had.")
}).annotations({ identifier: "DeletedArtifact", description: "An artifact that was deleted." })

export const artifactEvents = eventKinds({
  "artifact.published": { payload: PublishedArtifact, text: "The agent published a file of its working tree." },
  "artifact.deleted": { payload: DeletedArtifact, text: "Somebody deleted an artifact with its content." }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof artifactEvents> {}
}
