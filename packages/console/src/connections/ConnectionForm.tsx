import { useSignal } from "@preact/signals"
import type { ConnectionsCreateInput } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { type CredentialField, connectionKinds, credentialOf, isGateway } from "./ConnectionKinds.js"

/** Makes a connection. Its credential is sent once and never comes back. */
export const ConnectionForm = ({
  baseUrl = "",
  done,
  first = "alpha_gateway",
  workspaceId
}: {
  readonly workspaceId: string
  readonly first?: string
  /** The address that a gateway begins with. */
  readonly baseUrl?: string
  readonly done: (connectionId: string) => unknown
}) => {
  const kind = useSignal(first)
  const action = useAction()
  const fields = connectionKinds[kind.value]?.fields ?? []
  return (
    <Form
      of={action}
      send={(event) => {
        const { label = "", ...given } = fieldsOf(event)
        // Boundary: the fields of a kind are data here, and the server checks them.
        const input = {
          workspace_id: workspaceId,
          kind: kind.value,
          label: label || kind.value,
          credential: credentialOf(fields, given)
        } as unknown as ConnectionsCreateInput
        void action.run("the connection", async () => await done((await reins.connections.create(input)).id))
      }}
    >
      <Field label="Kind">
        <select value={kind.value} onChange={({ currentTarget }) => (kind.value = currentTarget.value)}>
          {Object.entries(connectionKinds).map(([name, { does }]) => (
            <option key={name} value={name}>
              {name}: {does}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Name" hint="Empty for the kind.">
        <input name="label" placeholder={kind.value} />
      </Field>
      {fields.map((field) => (
        <CredentialInput
          key={`${kind.value}.${field.name}`}
          field={field}
          given={field.name === "base_url" && isGateway(kind.value) ? baseUrl : ""}
        />
      ))}
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Create the connection
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

/** A control for a part of a credential. */
export const CredentialInput = ({
  field: { choices, hint, isLong, isOptional = false, isSecret, label, name },
  given = ""
}: {
  readonly field: CredentialField
  /** What is there before; a secret never is. */
  readonly given?: string | undefined
}) => (
  <Field label={isOptional ? `${label} (optional)` : label} {...(hint !== undefined && { hint })}>
    {choices !== undefined ? (
      <select name={name} defaultValue={given}>
        {isOptional && <option value="">the default</option>}
        {choices.map((choice) => (
          <option key={choice} selected={choice === given}>
            {choice}
          </option>
        ))}
      </select>
    ) : isSecret === true && isLong !== true ? (
      <input type="password" name={name} required={!isOptional} autocomplete="off" />
    ) : isLong === true ? (
      <textarea name={name} rows={3} required={!isOptional} spellcheck={false} autocomplete="off" />
    ) : (
      <input
        type="text"
        name={name}
        required={!isOptional}
        autocomplete="off"
        spellcheck={false}
        defaultValue={given}
      />
    )}
  </Field>
)
