import { useSignal } from "@preact/signals"
import { Field } from "../ui/Basics.js"

/** A field with a list of choices. The choice of a person stays while the page around it is shown anew. */
export const Choice = ({
  hint,
  label,
  name,
  value,
  words
}: {
  readonly label: string
  readonly name: string
  /** The choice at the beginning. */
  readonly value: string
  /** The words of each choice. */
  readonly words: Readonly<Record<string, string>>
  readonly hint?: string
}) => {
  const chosen = useSignal(value)
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      <select name={name} value={chosen.value} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
        {Object.entries(words).map(([each, does]) => (
          <option key={each} value={each}>
            {does}
          </option>
        ))}
      </select>
    </Field>
  )
}
