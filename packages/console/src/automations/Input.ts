import type { Automation, AutomationInput, AutomationTarget, AutomationTrigger } from "@reins/client"
import { Fault } from "../api/Failure.js"
import { limitsOf } from "../usage/Budgets.js"
import { toLocalField } from "./Times.js"

type Fields = Readonly<Record<string, string>>

type NewSession = Extract<AutomationTarget, { readonly kind: "new_session" }>

type Overlap = NonNullable<AutomationInput["overlap"]>

const overlaps: ReadonlyArray<string> = ["wait", "skip", "queue", "parallel"] satisfies ReadonlyArray<Overlap>

const isOverlap = (value: string): value is Overlap => overlaps.includes(value)

/** The automation of a form. Everything of the given one that has no field stays as it is. */
export const automationOf = (fields: Fields, hookId: string, given: Automation | undefined): AutomationInput => {
  const { name = "", overlap = "" } = fields
  const run = limitsOf({ tokens: fields["run_tokens"] ?? "", cost: fields["run_cost"] ?? "" })
  const total = limitsOf({ tokens: fields["total_tokens"] ?? "", cost: fields["total_cost"] ?? "" })
  return {
    name: name.trim(),
    trigger: triggerOf(fields, hookId, given?.trigger),
    target: targetOf(fields, given?.target),
    deliver: deliverOf(fields, given?.deliver ?? null),
    ...(isOverlap(overlap) && { overlap }),
    budget:
      run === undefined && total === undefined
        ? null
        : { ...(run !== undefined && { run }), ...(total !== undefined && { total }) }
  }
}

/** True for a trigger that says the same. A trigger that is sent again makes the occurrence before it void. */
export const isSame = (one: AutomationTrigger, other: AutomationTrigger): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

const triggerOf = (fields: Fields, hookId: string, given: AutomationTrigger | undefined): AutomationTrigger => {
  const { at = "", expression = "", timezone = "", when = "" } = fields
  if (when === "hook") {
    if (hookId === "") throw new Fault("hook_id", "Choose a hook, or make one.")
    return { ...(given?.kind === "hook" && given), kind: "hook", hook_id: hookId }
  }
  if (when === "event") return eventOf(fields, given)
  if (when === "once") {
    if (given?.kind === "once" && toLocalField(given.at) === at) return given
    const time = new Date(at)
    if (!(time.getTime() > Date.now())) throw new Fault("at", "This time has passed. Choose a later one.")
    return { kind: "once", at: time.toISOString() }
  }
  return {
    ...(given?.kind === "schedule" && given),
    kind: "schedule",
    expression: expression.trim().split(/\s+/).join(" "),
    timezone: timezone.trim()
  }
}

const eventOf = (fields: Fields, given: AutomationTrigger | undefined): AutomationTrigger => {
  const { event_label = "", event_types = "" } = fields
  const [first = "", ...others] = event_types.split(",")
  const { label: _, ...rest } = given?.kind === "event" ? given : {}
  return { ...rest, kind: "event", types: [first, ...others], ...(event_label !== "" && { label: event_label }) }
}

/** The work that the runs deliver. The texts that have no field stay as they are. */
const deliverOf = ({ deliver = "" }: Fields, given: Automation["deliver"]): Automation["deliver"] => {
  if (deliver === "") return null
  const { merge_request, ...rest } = given ?? {}
  return deliver === "branch" ? rest : { ...rest, merge_request: merge_request ?? {} }
}

const targetOf = (fields: Fields, given: AutomationTarget | undefined): AutomationTarget => {
  const { message = "", project_id = "", session_id = "", where = "" } = fields
  if (where === "session") {
    if (session_id === "") throw new Fault("session_id", "Choose a session.")
    return { kind: "session", session_id, message }
  }
  const before = given?.kind === "new_session" ? given : undefined
  const { connection_id, harness, project_id: projectBefore, ...rest } = before ?? {}
  if (project_id !== "")
    return {
      ...rest,
      kind: "new_session",
      message,
      project_id,
      // A project names its own agent, unless whoever made the automation named another one for it.
      ...(projectBefore === project_id && { ...(connection_id && { connection_id }), ...(harness && { harness }) })
    }
  return { ...rest, kind: "new_session", message, ...agentOf(fields, harness) }
}

const agentOf = (
  { connection_id = "", model = "", provider_id = "" }: Fields,
  given: NewSession["harness"]
): Pick<NewSession, "connection_id" | "harness"> => {
  if (provider_id === "") return {}
  const { model: _, ...rest } = given?.provider_id === provider_id ? given : {}
  return {
    harness: { ...rest, provider_id, ...(model !== "" && { model }) },
    ...(connection_id !== "" && { connection_id })
  }
}
