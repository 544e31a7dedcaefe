import type { SetupStep } from "@reins/client"
import { Field } from "../ui/Basics.js"
import { NetworkField } from "./NetworkField.js"
import { argvOf, lineOf, numberOf, type SpecProps } from "./Spec.js"

/** The commands that prepare a workspace. */
export const SetupFields = ({ put, spec: { setup, setup_network } }: SpecProps) => {
  const steps = setup ?? []
  const set = (next: ReadonlyArray<SetupStep>) => put({ setup: next.length === 0 ? undefined : next })
  const change = (at: number, parts: { readonly [Name in keyof SetupStep]?: SetupStep[Name] | undefined }) =>
    set(
      steps.map((step, place) => {
        if (place !== at) return step
        const { timeout_seconds, ...rest } = { ...step, ...parts }
        // Boundary: a part that is given is never undefined but for the time.
        return { ...rest, ...(timeout_seconds !== undefined && { timeout_seconds }) } as SetupStep
      })
    )
  return (
    <>
      <fieldset class="part">
        <legend>Setup</legend>
        <p class="fine">
          Commands that prepare a workspace before its agent starts. What they leave is kept for the next session.
        </p>
        {steps.map((step, at) => (
          <div class="spec-row" key={`${steps.length}.${at}`}>
            <Field label="Name">
              <input
                required
                maxLength={100}
                value={step.name}
                onInput={({ currentTarget }) => change(at, { name: currentTarget.value })}
              />
            </Field>
            <Field label="Command">
              <input
                class="code"
                required
                spellcheck={false}
                placeholder="npm ci"
                defaultValue={lineOf(step.argv)}
                onChange={({ currentTarget }) => change(at, { argv: argvOf(currentTarget.value) })}
              />
            </Field>
            <Field label="Seconds">
              <input
                type="number"
                min={1}
                max={1500}
                placeholder="600"
                value={step.timeout_seconds ?? ""}
                onInput={({ currentTarget }) => change(at, { timeout_seconds: numberOf(currentTarget.value) })}
              />
            </Field>
            <button
              type="button"
              class="icon"
              aria-label={`Leave out the step ${step.name || at + 1}`}
              onClick={() => set(steps.filter((_, place) => place !== at))}
            >
              ×
            </button>
          </div>
        ))}
        <button
          type="button"
          class="small"
          onClick={() => set([...steps, { name: `step ${steps.length + 1}`, argv: ["true"] }])}
        >
          Add a step
        </button>
      </fieldset>
      {steps.length > 0 && (
        <NetworkField
          legend="Network of the setup"
          value={setup_network}
          change={(value) => put({ setup_network: value })}
          none="none"
        />
      )}
    </>
  )
}
