import { Usages } from "@reins/core/sessions/Usages"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const usage = Effect.map(
  Usages,
  (usages): Handlers<"usage"> => ({
    session: ({ path, principal }) => usages.session(principal, path.session_id),
    workspace: ({ path, principal, query }) => usages.workspace(principal, path.workspace_id, query)
  })
)
