import { useSignal } from "@preact/signals"
import type { Connection, ProjectServer } from "@reins/client"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { ServerLoginButton } from "../connections/ServerLogin.js"
import { mayWrite, workspace } from "../inbox/Workspace.js"
import { Await, Field, State } from "../ui/Basics.js"

/** The connection whose tokens a server gets, as it is now. */
export const ConnectionLine = ({
  id,
  seen
}: {
  readonly id: string
  /** The check that may have changed it. */
  readonly seen: unknown
}) => {
  const connection_id = id
  const found = useLoaded("the connection", (signal) => reins.connections.get({ connection_id }, { signal }), [
    id,
    seen
  ])
  return (
    <Await of={found}>
      {({ health, label, state }) => (
        <p class="fine">
          Connection <a href="connections">{label}</a> <State of={state === "active" ? health : state} />
        </p>
      )}
    </Await>
  )
}

/** Chooses the connection whose tokens a server gets. Those of other servers are no choice. */
export const ConnectionField = ({
  change,
  connections,
  server
}: {
  readonly server: ProjectServer
  readonly connections: ReadonlyArray<Connection>
  readonly change: (server: ProjectServer) => void
}) => {
  const made = useSignal<ReadonlyArray<Connection>>([])
  const all = [...made.value, ...connections].filter(({ kind }) => kind === "mcp_oauth")
  const fitting = all.filter(({ id, settings }) => id === server.connection_id || settings["server_url"] === server.url)
  const url = server.url ?? ""
  const workspaceId = workspace.value?.id
  const login = workspaceId !== undefined && mayWrite.value && /^https?:\/\/./.test(url) && (
    <ServerLoginButton
      key={url}
      input={{ workspace_id: workspaceId, server_url: url }}
      done={async (connection_id) => {
        made.value = [await reins.connections.get({ connection_id }), ...made.value]
        change({ ...server, connection_id })
      }}
    >
      Connect
    </ServerLoginButton>
  )
  if (fitting.length === 0)
    return (
      <div>
        <p class="fine">For a server that wants a login. Reins keeps its tokens.</p>
        <div class="actions">{login}</div>
      </div>
    )
  return (
    <Field label="Connection (optional)" hint="Its tokens go with each request, so no header Authorization does.">
      <select
        value={server.connection_id ?? ""}
        onChange={({ currentTarget: { value } }) => {
          const { connection_id: _, ...rest } = server
          change(value === "" ? rest : { ...rest, connection_id: value })
        }}
      >
        <option value="">none</option>
        {fitting.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  )
}
