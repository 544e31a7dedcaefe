import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

export const SetupPayload = Schema.Struct({
  base_commit: field(
    Schema.NullOr(Schema.String),
    "The commit that the workspace starts from; null for an empty start."
  ),
  from_snapshot: field(
    Schema.Boolean,
    "True when the workspace was copied from what an earlier setup had left, and no command ran."
  ),
  steps: field(Schema.Int, "The number of commands of the setup."),
  duration_ms: field(Schema.NullOr(Schema.Int), "The time that it took, in milliseconds; null at its start."),
  reason: field(
    Schema.NullOr(Schema.String),
    "Why it failed, for people: the command, its exit code, and the end of what it wrote. Null otherwise."
  )
}).annotations({ identifier: "SetupPayload", description: "The setup of a workspace that began or ended." })

export const SetupStepPayload = Schema.Struct({
  step: field(Schema.Int, "The place of the command in the setup, from 1."),
  name: field(Schema.String, "The name of the command."),
  output: field(Schema.String, "The output since the event before, of both streams, with secrets blanked."),
  truncated: field(
    Schema.Boolean,
    "True for the last output of a setup that has written 256 KiB; the rest is no part of events."
  ),
  exit_code: field(
    Schema.NullOr(Schema.Int),
    "Its exit code, once it has ended; null until then, and where a signal or the time limit ended it."
  )
}).annotations({ identifier: "SetupStepPayload", description: "A command of a setup that wrote something, or ended." })

/** A moment of a setup that people are told of, as its event has it. */
export const SetupNote = Schema.Union(
  Schema.Struct({ type: Schema.Literal("setup.started", "setup.succeeded", "setup.failed"), payload: SetupPayload }),
  Schema.Struct({ type: Schema.Literal("setup.progressed"), payload: SetupStepPayload })
)
export type SetupNote = typeof SetupNote.Type
