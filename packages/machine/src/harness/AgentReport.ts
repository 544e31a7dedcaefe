import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

export const Media = Schema.Struct({
  kind: field(
    Schema.Literal("image", "audio", "resource"),
    "`image` and `audio` are shown or played; a `resource` is a file or a page that the agent names or gives."
  ),
  media_type: field(
    Schema.NullOr(Schema.String),
    "The media type, as in `image/png`; null when the agent does not tell."
  ),
  name: field(Schema.NullOr(Schema.String), "Its name for people; null for none."),
  uri: field(Schema.NullOr(Schema.String), "Where it is; null when it is only here."),
  data: field(
    Schema.NullOr(Schema.String),
    "The bytes in base64; null for none, or when they are too many to be kept."
  ),
  text: field(Schema.NullOr(Schema.String), "The text of a resource; null for none."),
  truncated: field(Schema.Boolean, "True when bytes were left out or a text was cut.")
}).annotations({
  identifier: "AgentMedia",
  description: "An image, a sound or a file that the agent shows. At most 786,432 characters of base64 are kept of one."
})
export type Media = typeof Media.Type

const PlanEntry = Schema.Struct({
  content: field(Schema.String, "What is to be done."),
  priority: field(Schema.String, "The agent's word for its weight, as in `high`, `medium` or `low`."),
  status: field(Schema.String, "The agent's word for where it stands, as in `pending`, `in_progress` or `completed`.")
}).annotations({ description: "A step of a plan." })

export const AgentPlan = Schema.Struct({
  plan_id: field(
    Schema.NullOr(Schema.String),
    "The id of the plan, for agents that have several; null for the only one."
  ),
  entries: field(Schema.Array(PlanEntry), "The steps, in order; empty for a plan that is a text or a file."),
  text: field(Schema.NullOr(Schema.String), "The plan as Markdown; null for one of steps."),
  uri: field(Schema.NullOr(Schema.String), "The file that holds the plan; null for none."),
  removed: field(Schema.Boolean, "True when the agent has given the plan up.")
}).annotations({
  identifier: "AgentPlan",
  description:
    "What the agent means to do. It is sent again, whole, with each change, and takes the place of the one with its id."
})
export type AgentPlan = typeof AgentPlan.Type

export const AgentNotice = Schema.Struct({
  severity: field(Schema.String, "`info`, `warning` or `error`, or another word of the agent."),
  title: field(Schema.String, "The report, in a line."),
  description: field(Schema.NullOr(Schema.String), "The report, in full; null when the title says it all.")
}).annotations({ identifier: "AgentNotice", description: "What the agent tells people beside its answer." })
export type AgentNotice = typeof AgentNotice.Type

export const Compaction = Schema.Struct({
  compaction_id: field(Schema.String, "The id of the compaction, as the agent gives it."),
  state: field(Schema.Literal("running", "done", "failed", "cancelled"), "Where it stands."),
  summary: field(
    Schema.NullOr(Schema.String),
    "The summary that took the place of the conversation so far; null for none."
  ),
  error: field(Schema.NullOr(Schema.String), "Why it failed; null otherwise.")
}).annotations({
  identifier: "AgentCompaction",
  description: "The agent makes room in its context: a summary takes the place of what was said before."
})
export type Compaction = typeof Compaction.Type

export const AgentCommands = Schema.Struct({
  commands: field(
    Schema.Array(
      Schema.Struct({
        name: field(Schema.String, "The name, which a message begins with after a slash."),
        description: field(Schema.String, "What it does."),
        hint: field(Schema.NullOr(Schema.String), "What may follow it in the message; null for nothing.")
      })
    ),
    "The commands, at most 200 of them."
  )
}).annotations({
  identifier: "AgentCommands",
  description: "The commands that the agent knows. A list takes the place of the one before."
})
export type AgentCommands = typeof AgentCommands.Type

const OptionValue = Schema.Union(Schema.String, Schema.Boolean)

export const AgentOption = Schema.Struct({
  id: field(Schema.String, "The id, which `harness.options` of a session may name."),
  name: field(Schema.String, "Its name for people."),
  description: field(Schema.NullOr(Schema.String), "What it does; null when the agent does not tell."),
  category: field(
    Schema.NullOr(Schema.String),
    "What it is about, as in `mode`, `model`, `model_config` or `thought_level`; null for something else. `harness.options` may name it too."
  ),
  value: field(Schema.NullOr(OptionValue), "The present value; null when the agent does not tell."),
  choices: field(
    Schema.Array(
      Schema.Struct({
        value: field(Schema.String, "The value to choose."),
        name: field(Schema.String, "Its name for people."),
        description: field(Schema.NullOr(Schema.String), "What it means; null for none.")
      })
    ),
    "The values that it takes, at most 200 of them; empty for one that is on or off."
  )
}).annotations({ identifier: "AgentOption", description: "Something about the agent that can be chosen." })
export type AgentOption = typeof AgentOption.Type

export const AgentOptions = Schema.Struct({
  options: field(Schema.Array(AgentOption), "The options, at most 100 of them.")
}).annotations({
  identifier: "AgentOptions",
  description:
    "The modes, models, thought levels and other options of the agent. A list takes the place of the one before."
})
export type AgentOptions = typeof AgentOptions.Type

export const AgentTitle = Schema.Struct({
  title: field(
    Schema.NullOr(Schema.String),
    "The title that the agent gives the conversation; null when it takes it back."
  )
}).annotations({ identifier: "AgentTitle", description: "The agent's own title for the conversation." })
export type AgentTitle = typeof AgentTitle.Type

export const OptionChoices = Schema.Record({
  key: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100)),
  value: OptionValue
})
  .pipe(
    Schema.filter((options) => Object.keys(options).length <= 50, {
      message: () => "Input should have at most 50 options"
    })
  )
  .annotations({
    identifier: "OptionChoices",
    description:
      "Options of the agent, by their id or their category, as in `mode` or `thought_level`. The event `agent.options_listed` tells which there are; a turn fails for one that there is not. At most 50."
  })
export type OptionChoices = typeof OptionChoices.Type
