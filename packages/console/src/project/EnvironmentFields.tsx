import type { EnvironmentVariable, ProjectSecret } from "@reins/client"
import { Field } from "../ui/Basics.js"
import type { SpecProps } from "./Spec.js"

const users = [
  { value: "both", name: "setup and agents" },
  { value: "setup", name: "setup alone" },
  { value: "agent", name: "agents alone" }
] as const

/** The variables that setup and agents find, with plain values or those of secrets. */
export const EnvironmentFields = ({
  put,
  secrets,
  spec: { environment }
}: SpecProps & { readonly secrets: ReadonlyArray<ProjectSecret> }) => {
  const variables = environment ?? []
  const set = (next: ReadonlyArray<EnvironmentVariable>) => put({ environment: next.length === 0 ? undefined : next })
  const change = (at: number, next: EnvironmentVariable) =>
    set(variables.map((variable, place) => (place === at ? next : variable)))
  return (
    <fieldset class="part">
      <legend>Environment</legend>
      {variables.map((variable, at) => (
        <VariableRow
          key={`${variables.length}.${at}`}
          variable={variable}
          secrets={secrets}
          change={(next) => change(at, next)}
          remove={() => set(variables.filter((_, place) => place !== at))}
        />
      ))}
      <button type="button" class="small" onClick={() => set([...variables, { name: "", value: "" }])}>
        Add a variable
      </button>
      {secrets.length === 0 && (
        <p class="fine">A secret is given on the page of the project, and its variable names it here.</p>
      )}
    </fieldset>
  )
}

const VariableRow = ({
  change,
  remove,
  secrets,
  variable
}: {
  readonly variable: EnvironmentVariable
  readonly secrets: ReadonlyArray<ProjectSecret>
  readonly change: (variable: EnvironmentVariable) => void
  readonly remove: () => void
}) => {
  const { for: user, name, secret, value } = variable
  const rest = { name, ...(user != null && { for: user }) }
  const isSecret = secret != null
  return (
    <div class="spec-row variable">
      <Field label="Name">
        <input
          class="code"
          required
          pattern="[A-Za-z_][A-Za-z0-9_]*"
          spellcheck={false}
          value={name}
          onInput={({ currentTarget }) => change({ ...variable, name: currentTarget.value })}
        />
      </Field>
      <Field label="Source">
        <select
          value={isSecret ? secret : ""}
          onChange={({ currentTarget: { value: chosen } }) =>
            change(chosen === "" ? { ...rest, value: "" } : { ...rest, secret: chosen })
          }
        >
          <option value="">a plain value</option>
          {[...new Set([...secrets.map((each) => each.name), ...(isSecret ? [secret] : [])])].map((each) => (
            <option key={each} value={each}>
              the secret {each}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Value">
        <input
          class="code"
          disabled={isSecret}
          spellcheck={false}
          placeholder={isSecret ? "never shown" : ""}
          value={value ?? ""}
          onInput={({ currentTarget }) => change({ ...rest, value: currentTarget.value })}
        />
      </Field>
      <Field label="For">
        <select
          value={user ?? "both"}
          onChange={({ currentTarget }) => {
            const { for: _, ...given } = variable
            const chosen = users.find((each) => each.value === currentTarget.value)?.value ?? "both"
            change(chosen === "both" ? given : { ...given, for: chosen })
          }}
        >
          {users.map((each) => (
            <option key={each.value} value={each.value}>
              {each.name}
            </option>
          ))}
        </select>
      </Field>
      <button type="button" class="icon" aria-label={`Leave out the variable ${name}`} onClick={remove}>
        ×
      </button>
    </div>
  )
}
