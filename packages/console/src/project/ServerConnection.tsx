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
  const url = server.url ?? ""
  if (!/^https?:\/\/./.test(url)) return null
  const fitting = [...made.value, ...connections].filter(
    ({ id, kind, settings }) =>
      kind === "mcp_oauth" &&
      settings["account_id"] === undefined &&
      (id === server.connection_id || settings["server_url"] === url)
  )
  const connected = async (connection_id: string) => {
    made.value = [await reins.connections.get({ connection_id }), ...made.value]
    change({ ...withoutLogin(server), connection_id })
  }
  return (
    <div>
      <Field
        label="Login (optional)"
        hint="Reins keeps the tokens. They go with each request, so no header Authorization does."
      >
        <select
          value={server.login === "person" ? eachPerson : (server.connection_id ?? "")}
          onChange={({ currentTarget: { value } }) => change({ ...withoutLogin(server), ...chosenLogin(value) })}
        >
          <option value="">none</option>
          {fitting.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
          <option value={eachPerson}>each person logs in</option>
        </select>
      </Field>
      {server.login === "person" ? (
        <p class="fine">A turn uses the login of the person whose message it answers.</p>
      ) : (
        <div class="actions">
          <LoginFor server={server} done={connected}>
            Connect
          </LoginFor>
        </div>
      )}
    </div>
  )
}

/** The choice that stands for a login of each person, in the place of the id of a connection. */
const eachPerson = "person"

const withoutLogin = ({ connection_id: _, login: __, ...rest }: ProjectServer): ProjectServer => rest

const chosenLogin = (value: string): Pick<ProjectServer, "connection_id" | "login"> => {
  if (value === eachPerson) return { login: eachPerson }
  return value === "" ? {} : { connection_id: value }
}

/** Logs the person in to a server: for the whole workspace, or for the turns of this person alone where each person logs in. */
export const LoginFor = ({
  children,
  done,
  server: { login, url = "" }
}: {
  readonly server: ProjectServer
  readonly done: (connectionId: string) => unknown
  readonly children: string
}) => {
  const workspaceId = workspace.value?.id
  return workspaceId === undefined || !mayWrite.value ? null : (
    <ServerLoginButton
      key={url}
      input={{ workspace_id: workspaceId, server_url: url ?? "", ...(login === "person" && { for: "person" }) }}
      done={done}
    >
      {children}
    </ServerLoginButton>
  )
}
