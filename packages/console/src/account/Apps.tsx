import type { OauthGrant } from "@reins/client"
import { useAction, usePages } from "../api/Loading.js"
import { me, reins } from "../api/Server.js"
import { Await, Nothing, Outcome, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { More } from "../ui/More.js"

/** The apps that have access to the account, and the end of that. */
export const Apps = () => {
  const list = usePages(
    "the apps with access",
    (cursor, signal) => reins.oauthGrants.list({ limit: 100, ...(cursor !== undefined && { cursor }) }, { signal }),
    []
  )
  return (
    <>
      <h2>Apps</h2>
      <p class="fine">Assistants that you have let in. Each reaches one workspace.</p>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>No app has access. An assistant asks for it when you give it the address of this server.</Nothing>
          ) : (
            <ul class="rows">
              {items.map((grant) => (
                <AppRow key={grant.id} grant={grant} reload={list.reload} />
              ))}
            </ul>
          )
        }
      </Await>
      <More of={list} />
    </>
  )
}

const permissions = { read: "may look", act: "has agents work", write: "changes everything" } as const

/** The most that an app may do, in words. */
const permissionOf = (scopes: OauthGrant["scopes"]): string =>
  permissions[scopes.includes("write") ? "write" : scopes.includes("act") ? "act" : "read"]

const AppRow = ({
  grant: { client_host, client_name, expires_at, id, last_used_at, scopes, unattended, workspace_id },
  reload
}: {
  readonly grant: OauthGrant
  readonly reload: () => void
}) => {
  const action = useAction()
  const workspace = me.value?.workspaces.find((one) => one.id === workspace_id)
  const end = () =>
    action.run("the end of the access", async () => {
      await reins.oauthGrants.revoke({ oauth_grant_id: id })
      reload()
    })
  return (
    <li class="row-line">
      <strong>{client_name}</strong>
      {client_host === null ? <span class="fine">calls itself so</span> : <code>{client_host}</code>}
      <span class="fine">
        {permissionOf(scopes)}
        {unattended && " without asking"} · {workspace?.name ?? workspace_id} ·{" "}
        {last_used_at === null ? (
          "never used"
        ) : (
          <>
            used <Time at={last_used_at} />
          </>
        )}
        {` · expires ${expires_at.slice(0, 10)}`}
      </span>
      <span class="actions">
        <Confirm act={end} ask="The app is refused at once. Its turns that wait do not begin. End its access?">
          End access
        </Confirm>
      </span>
      <Outcome of={action} />
    </li>
  )
}
