import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import {
  AgentCommands,
  AgentNotice,
  AgentOptions,
  AgentPlan,
  AgentTitle,
  Compaction
} from "@reins/machine/harness/AgentReport"
import { Schema } from "effect"
import { Usage } from "../sessions/rows/Session.js"
import { ToolPayload, ToolUpdate } from "../sessions/rows/ToolCall.js"

const UsagePayload = Schema.Struct({
  usage: field(Usage, "Tokens and cost of the turn so far."),
  context_used: field(Schema.NullOr(Schema.Int), "The tokens in the context of the agent; null when it does not tell."),
  context_size: field(
    Schema.NullOr(Schema.Int),
    "The most tokens that the context holds; null when the agent does not tell."
  )
}).annotations({ identifier: "UsagePayload", description: "What the turn has used so far." })

const DiagnosticPayload = Schema.Struct({
  kind: field(
    Schema.String,
    "The kind of the diagnostic, as in `unparsed`. `tools_not_offered`: the agent has not asked for the tools of the service. `foreign_servers`: files of the repository name servers of tools, and the agent starts them by itself. `skill_name_taken`: the repository has a skill of the name of a skill of the project."
  ),
  line: field(Schema.String, "The output, or what has happened in words.")
}).annotations({
  identifier: "DiagnosticPayload",
  description:
    "Output of a harness that Reins does not understand, which is kept rather than dropped, or a word on what it did not do."
})

/** The events of what agents do and tell. */
export const agentEvents = eventKinds({
  "tool.started": { payload: ToolPayload, text: "The agent calls a tool." },
  "tool.updated": {
    payload: ToolUpdate,
    text: "A tool call made progress: what has changed, at most four times a second."
  },
  "tool.completed": { payload: ToolPayload, text: "A tool call ended: `done`, `failed`, or `aborted` with its turn." },
  "plan.updated": { payload: AgentPlan, text: "The agent made a plan, or changed it." },
  "agent.notice_given": {
    payload: AgentNotice,
    text: "The agent tells people something beside its answer, such as a warning."
  },
  "agent.compaction_updated": {
    payload: Compaction,
    text: "The agent shortens what it knows of the conversation, to make room in its context."
  },
  "agent.commands_listed": {
    payload: AgentCommands,
    text: "The commands that the agent knows are others than before."
  },
  "agent.options_listed": {
    payload: AgentOptions,
    text: "The options of the agent, or their values, are others than before: modes, models, thought levels."
  },
  "agent.titled": { payload: AgentTitle, text: "The agent gave the conversation a title of its own." },
  "usage.observed": {
    payload: UsagePayload,
    text: "A model call of the turn has ended, or its agent reported usage: tokens and cost of the turn so far."
  },
  "diagnostic.reported": {
    payload: DiagnosticPayload,
    text: "The agent wrote something that Reins does not understand, which is kept, or has not asked for the tools that it was told of."
  }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof agentEvents> {}
}
