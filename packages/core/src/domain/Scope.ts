import { Schema } from "effect"

export const Scope = Schema.Literal("read", "write", "admin").annotations({
  description: "`write` includes `read`; `admin` includes both and adds keys, connection secrets and members."
})
export type Scope = typeof Scope.Type
