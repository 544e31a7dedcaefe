import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { field } from "../domain/Field.js"
import { Interaction, InteractionState } from "../domain/Interaction.js"
import { Page } from "../domain/Page.js"
import { extension, idPath, post, read, withStatus } from "./Endpoint.js"
import { pageFields } from "./Query.js"

export const InteractionAnswer = Schema.Struct({
  answer: field(Schema.String, "The id of one of the options.")
}).annotations({ identifier: "InteractionAnswer", description: "The answer to an agent." })
export type InteractionAnswer = typeof InteractionAnswer.Type

export class InteractionsApi extends HttpApiGroup.make("interactions")
  .add(
    read("list", "/api/sessions/:session_id/interactions", "List what the agent of a session has asked")
      .setPath(idPath("session_id"))
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(InteractionState, { exact: true }) }))
      .addSuccess(Page("InteractionList", Interaction))
  )
  .add(
    post("answer", "/api/interactions/:interaction_id/answers", "Answer what an agent asks")
      .setPath(idPath("interaction_id"))
      .setPayload(InteractionAnswer)
      .addSuccess(withStatus(Interaction, 202))
  )
  .annotateEndpointsContext(extension) {}
