import type { Automation, AutomationBudget } from "@reins/client"
import { Field } from "../ui/Basics.js"

const overlaps = {
  "": "is left out by the clock, and waits after a call or an event",
  wait: "waits, each in its turn",
  skip: "is left out",
  queue: "waits, and does the work of later ones too",
  parallel: "begins beside it"
} as const

const deliveries = [
  { value: "", words: "stays in its session" },
  { value: "branch", words: "goes to a branch" },
  { value: "merge_request", words: "goes to a merge request" }
] as const

const deliveryOf = (automation: Automation | undefined) =>
  automation?.deliver == null ? "" : automation.deliver.merge_request === undefined ? "branch" : "merge_request"

const keys = ["", "wait", "skip", "queue", "parallel"] as const

/** The settings that most automations leave as they are. */
export const MoreFields = ({
  automation,
  isInSession
}: {
  readonly automation: Automation | undefined
  /** True for a target that is a session. One session has one turn at a time. */
  readonly isInSession: boolean
}) => (
  <details>
    <summary>More</summary>
    <Field label="While the run before goes on, a new one">
      <select name="overlap">
        {keys
          .filter((each) => (each !== "parallel" || !isInSession) && (each !== "" || automation === undefined))
          .map((each) => (
            <option key={each} value={each} selected={each === (automation?.overlap ?? "")}>
              {overlaps[each]}
            </option>
          ))}
      </select>
    </Field>
    <Field label="What a run has changed" hint="A run without changes delivers nothing.">
      <select name="deliver">
        {deliveries.map(({ value, words }) => (
          <option key={value} value={value} selected={value === deliveryOf(automation)}>
            {words}
          </option>
        ))}
      </select>
    </Field>
    <Limits name="run" words="of each run" limits={automation?.budget?.run} />
    <Limits name="total" words="of all runs together" limits={automation?.budget?.total} />
    <p class="fine">Empty for no limit. The automation is paused when all runs together have used theirs up.</p>
  </details>
)

const Limits = ({
  limits,
  name,
  words
}: {
  readonly name: "run" | "total"
  readonly words: string
  readonly limits: AutomationBudget["run"] | undefined
}) => (
  <div class="columns">
    <Field label={`Tokens ${words}`}>
      <input
        name={`${name}_tokens`}
        type="number"
        min={1}
        step={1}
        inputMode="numeric"
        defaultValue={limits?.max_tokens ?? ""}
      />
    </Field>
    <Field label={`US dollars ${words}`}>
      <input
        name={`${name}_cost`}
        type="number"
        min={0.000001}
        step="any"
        inputMode="decimal"
        defaultValue={limits?.max_cost_usd ?? ""}
      />
    </Field>
  </div>
)
