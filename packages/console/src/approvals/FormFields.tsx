import type { Signal } from "@preact/signals"
import type { FormField } from "@reins/client"
import type { TargetedInputEvent } from "preact"

/** The values of a form, by the names of its fields. */
export type Values = Readonly<Record<string, string | number | boolean | ReadonlyArray<string>>>

/** The values as the API takes them: numbers as numbers, and fields that were left empty not at all. */
export const valuesOf = (form: ReadonlyArray<FormField>, values: Values): Values =>
  Object.fromEntries(
    form.flatMap(({ name, type }) => {
      const value = values[name]
      if (type === "boolean") return [[name, value === true]]
      if (value === undefined || value === "") return []
      return [[name, type === "number" || type === "integer" ? Number(value) : value]]
    })
  )

/** The fields of a form that an agent asks for. */
export const FormFields = ({
  form,
  id,
  values
}: {
  readonly form: ReadonlyArray<FormField>
  readonly values: Signal<Values>
  readonly id: string
}) => (
  <div class="form-fields">
    {form.map((field) => (
      <label class="field" key={field.name} htmlFor={`${id}.${field.name}`}>
        <span>
          {field.title}
          {field.required && <span aria-hidden="true"> *</span>}
        </span>
        <Control
          field={field}
          id={`${id}.${field.name}`}
          value={values.value[field.name]}
          put={(value) => (values.value = { ...values.value, [field.name]: value })}
        />
        {field.description !== null && <small>{field.description}</small>}
      </label>
    ))}
  </div>
)

interface ControlProps {
  readonly field: FormField
  readonly id: string
  readonly value: Values[string] | undefined
  readonly put: (value: Values[string]) => void
}

const Control = ({ field, id, put, value }: ControlProps) => {
  const { choices, format, maximum, minimum, name, required, type } = field
  switch (type) {
    case "boolean":
      return (
        <input
          id={id}
          name={name}
          type="checkbox"
          checked={value === true}
          onChange={({ currentTarget }) => put(currentTarget.checked)}
        />
      )
    case "choice":
      return (
        <select
          id={id}
          name={name}
          required={required}
          value={String(value ?? "")}
          onChange={({ currentTarget }) => put(currentTarget.value)}
        >
          <option value="" />
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      )
    case "choices":
      return (
        <select
          id={id}
          name={name}
          multiple
          required={required}
          onChange={({ currentTarget }) => put([...currentTarget.selectedOptions].map((option) => option.value))}
        >
          {choices.map((choice) => (
            <option
              key={choice.value}
              value={choice.value}
              selected={Array.isArray(value) && value.includes(choice.value)}
            >
              {choice.title}
            </option>
          ))}
        </select>
      )
    case "integer":
    case "number":
      return (
        <input
          id={id}
          name={name}
          type="number"
          required={required}
          step={type === "integer" ? 1 : "any"}
          {...(minimum !== null && { min: minimum })}
          {...(maximum !== null && { max: maximum })}
          value={String(value ?? "")}
          onInput={({ currentTarget }) => put(currentTarget.value)}
        />
      )
    case "text": {
      const given = {
        id,
        name,
        required,
        ...(minimum !== null && { minLength: minimum }),
        ...(maximum !== null && { maxLength: maximum }),
        value: String(value ?? ""),
        onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) => put(currentTarget.value)
      }
      if (format === "email") return <input type="email" {...given} />
      if (format === "uri") return <input type="url" {...given} />
      return format === "date" ? <input type="date" {...given} /> : <input type="text" {...given} />
    }
  }
}
