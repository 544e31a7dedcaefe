import { useSignal } from "@preact/signals"
import type { Automation, AutomationPreview } from "@reins/client"
import type { ComponentChildren } from "preact"
import { type Loaded, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Field } from "../ui/Basics.js"
import { Combobox } from "../ui/Combobox.js"
import { useFault } from "../ui/Form.js"
import { now } from "../ui/Now.js"
import { commonSchedules, moment, ownZone, wordsOf, zones } from "./Times.js"

const typingMs = 250

/** Ends when nothing has been typed for a moment. A read that is no longer wanted never ends. */
const untilTyped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, typingMs)
    signal.addEventListener("abort", () => clearTimeout(timer))
  })

/** The times by the clock of a zone, with the next of them as the server knows them. */
export const ScheduleFields = ({
  trigger,
  workspaceId
}: {
  readonly workspaceId: string
  readonly trigger: Automation["trigger"] | undefined
}) => {
  const given = trigger?.kind === "schedule" ? trigger : undefined
  const expression = useSignal(given?.expression ?? commonSchedules[0])
  const zone = useSignal(given?.timezone ?? ownZone)
  const preview = useLoaded(
    "the next times",
    async (signal) => {
      await untilTyped(signal)
      const asked = { workspace_id: workspaceId, expression: expression.value, timezone: zone.value, count: 5 }
      return reins.automations.getPreview(asked, { signal })
    },
    [workspaceId, expression.value, zone.value]
  )
  const isCommon = commonSchedules.some((each) => each === expression.value)
  return (
    <>
      <div class="columns">
        <Field label="Times">
          <select
            value={isCommon ? expression.value : ""}
            onChange={({ currentTarget: { value } }) => {
              if (value !== "") expression.value = value
            }}
          >
            {commonSchedules.map((each) => (
              <option key={each} value={each}>
                {wordsOf(each)}
              </option>
            ))}
            <option value="">as the expression says</option>
          </select>
        </Field>
        <Field
          label="Expression"
          hint={<Hint preview={preview} name="expression" usual="Minute, hour, day, month, weekday." />}
        >
          <input
            name="expression"
            required
            maxLength={200}
            autocomplete="off"
            value={expression.value}
            onInput={({ currentTarget }) => (expression.value = currentTarget.value)}
          />
        </Field>
      </div>
      <Field label="Time zone" hint={<Hint preview={preview} name="timezone" usual="As in Europe/Berlin." />}>
        <Combobox
          name="timezone"
          required
          choices={zones().map((value) => ({ value, name: value, group: "" }))}
          value={zone.value}
          onChoose={(value) => (zone.value = value)}
        />
      </Field>
      <Preview preview={preview} zone={zone.value} />
    </>
  )
}

/** The words below a field; the fault that the preview has found in it takes their place. */
const Hint = ({
  name,
  preview,
  usual
}: {
  readonly name: string
  readonly usual: ComponentChildren
  readonly preview: Loaded<AutomationPreview>
}) => {
  const isTold = useFault(name) !== undefined
  const fault = preview.failure.value?.fields?.find(({ names }) => names.includes(name))
  return fault === undefined || isTold ? usual : <span class="fault">{fault.text}</span>
}

const Preview = ({
  preview: { failure, value },
  zone
}: {
  readonly preview: Loaded<AutomationPreview>
  readonly zone: string
}) => {
  const failed = failure.value
  const isAtField = failed?.fields?.some(({ names }) => names.includes("expression") || names.includes("timezone"))
  const times = failed === undefined ? value.value?.times : undefined
  return (
    <div class="next-times" role="status">
      {failed !== undefined && isAtField !== true && <p class="fault">{failed.text}</p>}
      {times !== undefined && (
        <>
          <p>The next times{zone === ownZone ? "" : ", by your clock"}:</p>
          <ol>
            {times.map(({ at, local, note }) => (
              <li key={at}>
                <time dateTime={at}>{moment(at, now.value)}</time>
                {zone !== ownZone && local !== null && <span class="fine"> {local.slice(11, 16)} there</span>}
                {note !== null && <span class="fine"> {notes[note]}</span>}
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  )
}

const notes = {
  moved_by_clock_change: "moved, because the clock skips this time",
  repeated: "once more, because the clock shows this time twice"
} as const
