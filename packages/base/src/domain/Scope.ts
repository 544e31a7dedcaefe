import { Schema } from "effect"

export const Scope = Schema.Literal("read", "act", "write", "admin").annotations({
  description:
    "`act` includes `read` and starts, steers and cancels the work of agents; `write` includes both and changes everything else of a workspace; " +
    "`admin` includes all and adds keys, connection secrets and members."
})
export type Scope = typeof Scope.Type
