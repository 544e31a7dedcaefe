import { useSignal } from "@preact/signals"
import type { Connection, ConnectionValidation } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { me, reins, wholeOf } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Await, Nothing, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Dialog } from "../ui/Dialog.js"
import { count, plain } from "../words/Words.js"
import { ConnectionChange, CredentialForm } from "./ConnectionChange.js"
import { ConnectionForm } from "./ConnectionForm.js"
import { connectionKinds, isGateway } from "./ConnectionKinds.js"
import { ServerLoginButton } from "./ServerLogin.js"
import { SetPrice } from "./SetPrice.js"

/** The connections of the workspace: gateways of models, forges and git. */
export const ConnectionsPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = useLoaded(
    "the connections",
    (signal) => wholeOf(reins.connections.list({ workspace_id: workspaceId, limit: 100 }, { signal })),
    [workspaceId]
  )
  const isMaking = useSignal(false)
  return (
    <>
      <PageHead
        title="Connections"
        under="Credentials for gateways, forges, git and servers of tools. A secret that was stored never comes back."
      >
        {mayWrite.value && (
          <button type="button" class="primary" onClick={() => (isMaking.value = true)}>
            New connection
          </button>
        )}
      </PageHead>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>There is no connection. An agent needs one to reach its models.</Nothing>
          ) : (
            <ul class="cards">
              {items.map((each) => (
                <ConnectionCard key={each.id} connection={each} reload={list.reload} />
              ))}
            </ul>
          )
        }
      </Await>
      <SetPrice connections={list.value.value?.items} changed={list.reload} />
      {isMaking.value && (
        <Dialog title="New connection" close={() => (isMaking.value = false)}>
          <ConnectionForm
            workspaceId={workspaceId}
            done={() => {
              isMaking.value = false
              list.reload()
            }}
          />
        </Dialog>
      )}
    </>
  )
}

const ConnectionCard = ({ connection, reload }: { readonly connection: Connection; readonly reload: () => void }) => {
  const { created_at, credential, health, id, kind, label, preferred_model, prices, settings, state } = connection
  const action = useAction()
  const dialog = useSignal<"change" | "credential" | undefined>(undefined)
  const close = () => {
    dialog.value = undefined
    reload()
  }
  const setState = (to: "active" | "disabled") =>
    action.run("the connection", async () => {
      await reins.connections.update({ connection_id: id, state: to })
      reload()
    })
  const disconnect = () =>
    action.run("the end of the connection", async () => {
      await reins.connections.disconnect({ connection_id: id })
      reload()
    })
  return (
    <li>
      <div class="section-head">
        <h2>{label}</h2>
        <span>
          <State of={state} /> <State of={health} />
        </span>
      </div>
      <p class="fine">
        {kind}
        {Object.entries(settings).map(([name, value]) => (name === "account_id" ? "" : ` · ${plain(name)} ${value}`))}
        {settings["account_id"] !== undefined &&
          ` · for ${isMine(settings["account_id"]) ? "your" : "one person's"} turns alone`}
        {credential !== null &&
          ` · credential ${credential.ordinal}${credential.last4 === null ? "" : `, ending in ${credential.last4}`}`}
        {preferred_model !== null && ` · prefers ${preferred_model}`}
        {prices !== null && ` · prices of ${count(Object.keys(prices).length, "model")}`} · <Time at={created_at} />
      </p>
      {mayWrite.value && state !== "revoked" && (
        <>
          <Validation connectionId={id} validated={reload} />
          <p class="actions">
            <button type="button" class="small" onClick={() => (dialog.value = "change")}>
              Change
            </button>
            {kind === "mcp_oauth" && (settings["account_id"] === undefined || isMine(settings["account_id"])) && (
              <ServerLoginButton
                input={{ workspace_id: connection.workspace_id, connection_id: id }}
                done={() => reload()}
              >
                Log in again
              </ServerLoginButton>
            )}
            {connectionKinds[kind] !== undefined && (
              <button type="button" class="small" onClick={() => (dialog.value = "credential")}>
                Replace the credential
              </button>
            )}
            {state === "active" ? (
              <button type="button" class="small" onClick={() => setState("disabled")}>
                Disable
              </button>
            ) : (
              <button type="button" class="small" onClick={() => setState("active")}>
                Enable
              </button>
            )}
            <Confirm act={disconnect} ask="Its credential is deleted, and sessions that use it stop. Revoke it?">
              Revoke
            </Confirm>
          </p>
        </>
      )}
      <Outcome of={action} />
      {dialog.value === "change" && (
        <Dialog title={`Change ${label}`} isWide close={close}>
          <ConnectionChange connection={connection} isGateway={isGateway(kind)} done={close} />
        </Dialog>
      )}
      {dialog.value === "credential" && (
        <Dialog title={`Replace the credential of ${label}`} close={close}>
          <CredentialForm connection={connection} done={close} />
        </Dialog>
      )}
    </li>
  )
}

const isMine = (accountId: string): boolean => me.value?.account.id === accountId

/** Checks the credential of a connection, and says what was found. */
export const Validation = ({
  connectionId,
  validated
}: {
  readonly connectionId: string
  readonly validated?: () => void
}) => {
  const action = useAction()
  const list = useLoaded(
    "the validations",
    (signal) => reins.connections.listValidations({ connection_id: connectionId, limit: 1 }, { signal }),
    [connectionId]
  )
  const validate = () =>
    action.run("the gateway's answer", async () => {
      const { operation } = await reins.connections.validate({ connection_id: connectionId })
      await reins.jobs.wait(operation)
      list.reload()
      validated?.()
    })
  const last = list.value.value?.items[0]
  return (
    <div>
      <p class="actions">
        <button type="button" class="small" disabled={action.busy.value !== undefined} onClick={validate}>
          Validate
        </button>
        {last !== undefined && <Found validation={last} />}
      </p>
      <Outcome of={action} />
    </div>
  )
}

const Found = ({
  validation: { created_at, reason_message, state }
}: {
  readonly validation: ConnectionValidation
}) => (
  <span role="status">
    <State of={state} as={`validation ${state}`} /> {forPeople(reason_message ?? "")}{" "}
    <span class="fine">
      <Time at={created_at} />
    </span>
  </span>
)
