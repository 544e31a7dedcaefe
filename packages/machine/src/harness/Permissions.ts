import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

export const Permission = Schema.Literal("allow", "ask", "deny").annotations({
  description: "`allow` lets the agent go on at once, `ask` waits for the answer of a person, `deny` refuses at once."
})
export type Permission = typeof Permission.Type

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

export const PermissionPolicy = Schema.Struct({
  default: field(optional(Permission), "What holds for every other kind of tool; `allow` when absent."),
  tools: field(
    optional(Schema.Record({ key: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(50)), value: Permission })),
    "What holds for each kind of tool, by the agent's word for it: `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or `other`."
  )
}).annotations({
  identifier: "PermissionPolicy",
  description:
    "What the agent may do by itself. It covers what the agent asks leave for; anything but `allow` needs a provider with the capability `interactive_approval`."
})
export type PermissionPolicy = typeof PermissionPolicy.Type

/** The rule for a kind of tool. */
export const permissionFor = (policy: PermissionPolicy, kind: string): Permission =>
  policy.tools?.[kind] ?? policy.default ?? "allow"

/** True for a policy that lets the agent do everything, so that it need not ask. */
export const allowsAll = ({ default: rest = "allow", tools = {} }: PermissionPolicy): boolean =>
  [rest, ...Object.values(tools)].every((permission) => permission === "allow")
