import { type Signal, useSignal } from "@preact/signals"
import type { Automation, Hook } from "@reins/client"
import { Field } from "../ui/Basics.js"
import { EventFields } from "./EventFields.js"
import { HookFields } from "./HookFields.js"
import { ScheduleFields } from "./ScheduleFields.js"
import { ownZone, toLocalField } from "./Times.js"

const kinds = {
  schedule: "at times that come again",
  once: "once",
  hook: "when somebody calls",
  event: "when something happens here"
} as const

type Kind = keyof typeof kinds

/** The moment at which an automation begins. */
export const TriggerFields = ({
  hook,
  hooks,
  trigger,
  workspaceId
}: {
  readonly workspaceId: string
  readonly trigger: Automation["trigger"] | undefined
  /** The id of the chosen hook; empty for a new one. */
  readonly hook: Signal<string>
  readonly hooks: ReadonlyArray<Hook> | null
}) => {
  const kind = useSignal<Kind>(trigger?.kind ?? "schedule")
  const radio = (each: Kind) => (
    <label class="check">
      <input type="radio" name="when" value={each} checked={kind.value === each} onChange={() => (kind.value = each)} />{" "}
      {kinds[each]}
    </label>
  )
  return (
    <fieldset class="choices">
      <legend>It begins</legend>
      {radio("schedule")}
      {kind.value === "schedule" && (
        <div class="inset">
          <ScheduleFields trigger={trigger} workspaceId={workspaceId} />
        </div>
      )}
      {radio("once")}
      {kind.value === "once" && (
        <div class="inset">
          <Field label="Date and time" hint={`By your clock, in ${ownZone}.`}>
            <input
              name="at"
              type="datetime-local"
              required
              defaultValue={trigger?.kind === "once" ? toLocalField(trigger.at) : ""}
            />
          </Field>
        </div>
      )}
      {radio("hook")}
      {kind.value === "hook" && (
        <div class="inset">
          <HookFields chosen={hook} hooks={hooks} />
        </div>
      )}
      {radio("event")}
      {kind.value === "event" && (
        <div class="inset">
          <EventFields trigger={trigger} />
        </div>
      )}
    </fieldset>
  )
}
