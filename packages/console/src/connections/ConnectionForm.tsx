import { useSignal } from "@preact/signals"
import type { ConnectionsCreateInput } from "@reins/client"
import type { ComponentChildren } from "preact"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { type CredentialField, connectionKinds, credentialOf, isGateway } from "./ConnectionKinds.js"
import { ServerLoginForm } from "./ServerLogin.js"

/** Makes a connection. Its credential is sent once and never comes back. */
export const ConnectionForm = (given: FormProps) => {
  const kind = useSignal(given.first ?? "alpha_gateway")
  const isByHand = useSignal(false)
  const choose = (
    <Field label="Kind">
      <select value={kind.value} onChange={({ currentTarget }) => (kind.value = currentTarget.value)}>
        {Object.entries(connectionKinds).map(([name, { does }]) => (
          <option key={name} value={name}>
            {name}: {does}
          </option>
        ))}
      </select>
    </Field>
  )
  if (kind.value !== "mcp_oauth" || isByHand.value)
    return (
      <CredentialOfKind {...given} kind={kind.value}>
        {choose}
      </CredentialOfKind>
    )
  return (
    <>
      {choose}
      <ServerLoginForm {...given} />
      <p>
        <button type="button" class="plain" onClick={() => (isByHand.value = true)}>
          Give a token or a secret of your own
        </button>
      </p>
    </>
  )
}

interface FormProps {
  readonly workspaceId: string
  readonly first?: string
  /** The address that a gateway begins with. */
  readonly baseUrl?: string
  readonly done: (connectionId: string) => unknown
}

const CredentialOfKind = ({
  baseUrl = "",
  children,
  done,
  kind,
  workspaceId
}: FormProps & { readonly kind: string; readonly children: ComponentChildren }) => {
  const action = useAction()
  const fields = connectionKinds[kind]?.fields ?? []
  return (
    <Form
      of={action}
      send={(event) => {
        const { label = "", ...given } = fieldsOf(event)
        // Boundary: the fields of a kind are data here, and the server checks them.
        const input = {
          workspace_id: workspaceId,
          kind,
          label: label || kind,
          credential: credentialOf(fields, given)
        } as unknown as ConnectionsCreateInput
        void action.run("the connection", async () => await done((await reins.connections.create(input)).id))
      }}
    >
      {children}
      <Field label="Name" hint="Empty for the kind.">
        <input name="label" placeholder={kind} />
      </Field>
      {fields.map((field) => (
        <CredentialInput
          key={`${kind}.${field.name}`}
          field={field}
          given={field.name === "base_url" && isGateway(kind) ? baseUrl : ""}
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
