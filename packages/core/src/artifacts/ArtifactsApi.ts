import { HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { extension, idPath, read, remove } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { Artifact } from "./Artifact.js"

export class SessionArtifactsApi extends HttpApiGroup.make("sessions").add(
  read("listArtifacts", "/api/sessions/:session_id/artifacts", "List the files that the agent has published")
    .setPath(idPath("session_id"))
    .setUrlParams(
      Schema.Struct({
        ...pageFields,
        turn_id: field(Schema.optionalWith(Schema.String, { exact: true }), "Only those of this turn.")
      })
    )
    .addSuccess(Page("ArtifactList", Artifact))
    .annotateContext(extension)
) {}

/** The media types of contents are in the document of the server, which knows them all. */
const Content = HttpApiSchema.Uint8Array().annotations({ description: "The bytes, with their media type." })

const artifact = idPath("artifact_id")

export class ArtifactsApi extends HttpApiGroup.make("artifacts")
  .add(read("get", "/api/artifacts/:artifact_id", "Read an artifact").setPath(artifact).addSuccess(Artifact))
  .add(
    read("getContent", "/api/artifacts/:artifact_id/content", "Read the content of an artifact")
      .setPath(artifact)
      .addSuccess(Content)
  )
  .add(remove("delete", "/api/artifacts/:artifact_id", "Delete an artifact").setPath(artifact).addSuccess(Artifact))
  .annotateEndpointsContext(extension) {}
