import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { extension, idPath, optional, post, read, withStatus } from "../domain/Endpoint.js"
import { field } from "../domain/Field.js"
import { FormContent } from "../domain/Form.js"
import { Page } from "../domain/Page.js"
import { pageFields } from "../domain/Query.js"
import { Interaction, InteractionState } from "./Interaction.js"

export const InteractionAnswer = Schema.Struct({
  answer: field(Schema.String, "The id of one of the options."),
  note: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000))),
    "What the agent is to know beside the answer, at most 10,000 characters. It is said to the agent in the same turn."
  ),
  content: field(optional(FormContent), "The values of a form, with an option of the kind `accept`.")
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
