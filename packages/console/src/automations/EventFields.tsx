import type { Automation } from "@reins/client"
import { Field } from "../ui/Basics.js"

/** The events that most automations begin with, in words. */
export const eventWords: Readonly<Record<string, string>> = {
  "turn.failed": "a failed turn",
  "turn.succeeded": "a turn that has ended well",
  "delivery.succeeded": "a delivered branch",
  "delivery.failed": "a failed delivery",
  "delivery.blocked": "a blocked delivery",
  "merge_request.opened": "an opened merge request",
  "merge_request.merged": "a merged merge request"
}

/** The events of the workspace that begin a run. */
export const EventFields = ({ trigger }: { readonly trigger: Automation["trigger"] | undefined }) => {
  const given = trigger?.kind === "event" ? trigger : undefined
  const [type = "turn.failed", ...others] = given?.types ?? []
  const value = [type, ...others].join(",")
  return (
    <div class="columns">
      <Field label="Event" hint="Runs of automations lead to at most three more.">
        <select name="event_types">
          {!(value in eventWords) && (
            <option value={value} selected>
              {[type, ...others].join(", ")}
            </option>
          )}
          {Object.entries(eventWords).map(([each, words]) => (
            <option key={each} value={each} selected={each === value}>
              {words}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Label" hint="Only of sessions with this label, as kind=deps. Empty for all.">
        <input name="event_label" maxLength={1000} pattern="[^=]+=.*" defaultValue={given?.label ?? ""} />
      </Field>
    </div>
  )
}
