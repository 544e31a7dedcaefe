import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { EnforcedLimits } from "./EnforcedLimits.js"

export const ExecutorBackend = Schema.Struct({
  backend: field(Schema.String, "The name by which sessions and projects select it."),
  available: field(Schema.Boolean, "True when sessions can run on it now."),
  default: field(Schema.Boolean, "True for the backend of sessions that select none."),
  isolation: field(
    Schema.Struct({
      security_boundary: field(
        Schema.Boolean,
        "True when an agent that means harm is kept in. Without it an agent can do what the user of the service can."
      ),
      filesystem: field(Schema.String, "The files that the agent reaches, in one word, as in `shared`."),
      network: field(
        Schema.String,
        "The network that the agent reaches: `restricted` where the executor enforces the `network` of a spec, `shared` where the agent can " +
          "reach what the server can."
      ),
      processes: field(Schema.String, "The processes that the agent sees or is part of, in one word.")
    }),
    "What separates the agent from the rest."
  ),
  engine: field(
    Schema.NullOr(
      Schema.Struct({
        name: field(Schema.String, "The program, as in `bubblewrap` or `podman`."),
        version: field(Schema.NullOr(Schema.String), "Its version; null when it does not tell."),
        image: field(
          Schema.NullOr(Schema.String),
          "The image that agents run in, by its digest; null where they run in none."
        )
      })
    ),
    "What separates agents; null where nothing does, and where the executor is not available."
  ),
  limits: field(
    EnforcedLimits,
    "What one agent may take of the machine, and what holds it to that. `executor.limits` of a project or a session may lower those that are " +
      "held for each agent by itself: by a cgroup, or by a watch."
  ),
  note: field(Schema.String, "Sentences for people: what the isolation means.")
}).annotations({
  identifier: "ExecutorBackend",
  description: "An executor backend, and the boundaries that it puts between an agent and the rest of the machine."
})
export type ExecutorBackend = typeof ExecutorBackend.Type
