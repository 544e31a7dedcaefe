import { useSignal } from "@preact/signals"
import type { ApiKey, IssuedApiKey, Scope } from "@reins/client"
import { useAction, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Field, fieldsOf, Nothing, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Dialog } from "../ui/Dialog.js"
import { Form } from "../ui/Form.js"
import { More } from "../ui/More.js"
import { Secret } from "../ui/Secret.js"
import { BudgetFields, BudgetForm } from "../usage/BudgetForm.js"
import { limitsOf } from "../usage/Budgets.js"
import { BudgetView } from "../usage/BudgetView.js"

/** The keys that programs call with. */
export const KeysPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = usePages(
    "the API keys",
    (cursor, signal) => reins.apiKeys.list({ limit: 100, ...(cursor !== undefined && { cursor }) }, { signal }),
    []
  )
  const isMaking = useSignal(false)
  return (
    <>
      <PageHead title="API keys" under="Programs call with them. A key is shown once, when it is created.">
        <button type="button" class="primary" onClick={() => (isMaking.value = true)}>
          New key
        </button>
      </PageHead>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>There is no API key yet. The command line, programs and CI call Reins with one.</Nothing>
          ) : (
            <ul class="rows">
              {items.map((key) => (
                <KeyRow key={key.id} apiKey={key} reload={list.reload} />
              ))}
            </ul>
          )
        }
      </Await>
      <More of={list} />
      {isMaking.value && (
        <Dialog
          title="New key"
          close={() => {
            isMaking.value = false
            list.reload()
          }}
        >
          <KeyForm workspaceId={workspaceId} />
        </Dialog>
      )}
    </>
  )
}

const KeyRow = ({
  apiKey: { budget, created_at, expires_at, id, last4, last_used_at, name, prefix, revoked_at, scopes },
  reload
}: {
  readonly apiKey: ApiKey
  readonly reload: () => void
}) => {
  const action = useAction()
  const isChanging = useSignal(false)
  const revoke = () =>
    action.run("the end of the key", async () => {
      await reins.apiKeys.revoke({ key_id: id })
      reload()
    })
  return (
    <li class="row-line">
      <strong>{name}</strong>
      <code>
        {prefix}…{last4}
      </code>
      <span class="fine">
        {scopes.join(", ")} · made <Time at={created_at} /> ·{" "}
        {last_used_at === null ? (
          "never used"
        ) : (
          <>
            used <Time at={last_used_at} />
          </>
        )}
        {expires_at !== null && ` · expires ${expires_at.slice(0, 10)}`}
      </span>
      {revoked_at === null ? (
        <span class="actions">
          <button type="button" class="small" onClick={() => (isChanging.value = true)}>
            Budget
          </button>
          <Confirm act={revoke} ask="Programs that call with it are refused at once. Revoke it?">
            Revoke
          </Confirm>
        </span>
      ) : (
        <State of="revoked" />
      )}
      {budget !== null && revoked_at === null && <BudgetView budget={budget} />}
      <Outcome of={action} />
      {isChanging.value && (
        <Dialog title={`Budget of the key ${name}`} close={() => (isChanging.value = false)}>
          <BudgetForm
            id={id}
            budget={budget}
            done={() => {
              isChanging.value = false
              reload()
            }}
          />
        </Dialog>
      )}
    </li>
  )
}

/** The scopes of a choice. Each includes those below it. */
const scopesOf = (choice: string): [Scope, ...Array<Scope>] => {
  switch (choice) {
    case "admin":
      return ["read", "write", "admin"]
    case "write":
      return ["read", "write"]
    case "act":
      return ["read", "act"]
    default:
      return ["read"]
  }
}

const KeyForm = ({ workspaceId }: { readonly workspaceId: string }) => {
  const action = useAction()
  const made = useSignal<IssuedApiKey | undefined>(undefined)
  if (made.value !== undefined) return <Secret name="key" value={made.value.secret} />
  return (
    <Form
      of={action}
      send={(event) => {
        const fields = fieldsOf(event)
        const { expires = "", name = "", scope = "", where = "" } = fields
        const budget = limitsOf(fields)
        void action.run("the key", async () => {
          made.value = await reins.apiKeys.create({
            name,
            scopes: scopesOf(scope),
            ...(where === "one" && { workspace_id: workspaceId }),
            ...(budget !== undefined && { budget }),
            ...(expires !== "" && { expires_at: new Date(`${expires}T00:00:00Z`).toISOString() })
          })
        })
      }}
    >
      <Field label="Name">
        <input name="name" required autofocus placeholder="laptop" />
      </Field>
      <Field label="Permissions">
        <select name="scope">
          <option value="write">read and write</option>
          <option value="act">read, and have agents work</option>
          <option value="read">read</option>
          <option value="admin">read, write and admin</option>
        </select>
      </Field>
      <Field label="Workspaces">
        <select name="where">
          <option value="one">this workspace</option>
          <option value="all">all workspaces of mine</option>
        </select>
      </Field>
      <Field label="Expires" hint="Empty for never.">
        <input name="expires" type="date" />
      </Field>
      <details>
        <summary>Budget</summary>
        <BudgetFields budget={null} />
      </details>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Create the key
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}
