import { useSignal } from "@preact/signals"
import type { ApiKey, IssuedApiKey } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Copy, Field, fieldsOf, Nothing, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"

/** The keys that programs call with. */
export const KeysPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = useLoaded("the API keys", (signal) => reins.apiKeys.list({ limit: 100 }, { signal }), [])
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
            <Nothing>There is no key.</Nothing>
          ) : (
            <ul class="rows">
              {items.map((key) => (
                <KeyRow key={key.id} apiKey={key} reload={list.reload} />
              ))}
            </ul>
          )
        }
      </Await>
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
  apiKey: { created_at, expires_at, id, last4, last_used_at, name, prefix, revoked_at, scopes },
  reload
}: {
  readonly apiKey: ApiKey
  readonly reload: () => void
}) => {
  const action = useAction()
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
        {expires_at !== null && ` · until ${expires_at.slice(0, 10)}`}
      </span>
      {revoked_at === null ? (
        <button type="button" class="small danger" onClick={revoke}>
          Revoke
        </button>
      ) : (
        <State of="revoked" />
      )}
      <Outcome of={action} />
    </li>
  )
}

const KeyForm = ({ workspaceId }: { readonly workspaceId: string }) => {
  const action = useAction()
  const made = useSignal<IssuedApiKey | undefined>(undefined)
  if (made.value !== undefined) {
    const { secret } = made.value
    return (
      <div role="status">
        <p>This is the key. It is shown this once; copy it now.</p>
        <p>
          <code class="block">{secret}</code>
        </p>
        <Copy label="Copy the key" text={secret} />
      </div>
    )
  }
  return (
    <form
      onSubmit={(event) => {
        const { expires = "", name = "", scope = "", where = "" } = fieldsOf(event)
        void action.run("the key", async () => {
          made.value = await reins.apiKeys.create({
            name,
            scopes: scope === "admin" ? ["read", "write", "admin"] : scope === "write" ? ["read", "write"] : ["read"],
            ...(where === "one" && { workspace_id: workspaceId }),
            ...(expires !== "" && { expires_at: new Date(`${expires}T00:00:00Z`).toISOString() })
          })
        })
      }}
    >
      <Field label="Name">
        <input name="name" required autofocus placeholder="laptop" />
      </Field>
      <Field label="It may">
        <select name="scope">
          <option value="write">read and write</option>
          <option value="read">read</option>
          <option value="admin">read, write and admin</option>
        </select>
      </Field>
      <Field label="It is good for">
        <select name="where">
          <option value="one">this workspace</option>
          <option value="all">all workspaces of mine</option>
        </select>
      </Field>
      <Field label="Until" hint="Empty for no end.">
        <input name="expires" type="date" />
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Create the key
        </button>
      </p>
      <Outcome of={action} />
    </form>
  )
}
