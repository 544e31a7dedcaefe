import { useSignal } from "@preact/signals"
import type { NetworkAccess } from "@reins/client"
import { Field } from "../ui/Basics.js"

type Choice = "default" | "none" | "open" | "hosts"

const choiceOf = (value: NetworkAccess | null | undefined): Choice =>
  value === undefined || value === null ? "default" : typeof value === "string" ? value : "hosts"

/** The hosts that agents or commands may connect to. */
export const NetworkField = ({
  change,
  legend,
  none,
  value
}: {
  readonly legend: string
  readonly value: NetworkAccess | null | undefined
  readonly change: (value: NetworkAccess | undefined) => void
  /** The words for none. */
  readonly none: string
}) => {
  const choice = useSignal(choiceOf(value))
  const text = useSignal(Array.isArray(value) ? value.join("\n") : "")
  const takeHosts = (given: string) => {
    text.value = given
    const hosts = given.split(/[\s,]+/).filter((host) => host !== "")
    change(hosts.length === 0 ? "none" : hosts)
  }
  const choose = (next: Choice) => {
    choice.value = next
    if (next === "hosts") takeHosts(text.value)
    else change(next === "default" ? undefined : next)
  }
  return (
    <fieldset class="part">
      <legend>{legend}</legend>
      <select
        aria-label={legend}
        value={choice.value}
        onChange={({ currentTarget }) => choose(choices.find((each) => each === currentTarget.value) ?? "default")}
      >
        <option value="default">the default of the executor</option>
        <option value="none">{none}</option>
        <option value="hosts">these hosts</option>
        <option value="open">the public Internet</option>
      </select>
      {choice.value === "hosts" && (
        <Field
          label="Hosts"
          hint="One a line, as in registry.npmjs.org or *.github.com; port 443 unless it names another."
        >
          <textarea
            class="code"
            rows={3}
            spellcheck={false}
            value={text.value}
            onInput={({ currentTarget }) => takeHosts(currentTarget.value)}
          />
        </Field>
      )}
    </fieldset>
  )
}

const choices = ["default", "none", "open", "hosts"] as const
