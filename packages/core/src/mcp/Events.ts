import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

const ToolsChanged = Schema.Struct({
  server: field(Schema.String, "The name of the server in the project."),
  tools: field(
    Schema.Array(Schema.String),
    "The tools whose description or schema is another one than the pinned one. They are not offered."
  )
}).annotations({ identifier: "ToolsChanged", description: "Tools of a server that are not as they were pinned." })

const ServerUnavailable = Schema.Struct({
  server: field(Schema.String, "The name of the server in the project."),
  reason: field(Schema.String, "Why it cannot be used, in a sentence without secrets.")
}).annotations({ identifier: "ServerUnavailable", description: "A server of the project that cannot be used." })

/** The events of the servers that projects name. */
export const mcpEvents = eventKinds({
  "mcp.tools_changed": {
    payload: ToolsChanged,
    text: "A server of the project describes tools in another way than the pinned one. They are not offered until somebody pins them anew."
  },
  "mcp.server_unavailable": {
    payload: ServerUnavailable,
    text: "A server of the project cannot be used. The tools of others are there."
  }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof mcpEvents> {}
}
