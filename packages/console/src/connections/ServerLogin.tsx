import { useSignal } from "@preact/signals"
import type { ConnectionLogin, ConnectionLoginsCreateInput } from "@reins/client"
import { type Action, useAction, useEvery } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { Field, fieldsOf, Outcome, Waiting } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"

/** A login that waits for another tab of the browser. */
interface Waited {
  readonly login: ConnectionLogin
  readonly address: string
}

interface Login {
  readonly action: Action
  readonly waited: Waited | undefined
  /** Opens the login in another tab. It has to be called while a click is handled, because browsers open tabs then alone. */
  readonly begin: (input: ConnectionLoginsCreateInput) => void
  readonly stop: () => void
}

/** Begins logins, and follows the one that was begun last to its end. */
const useServerLogin = (done: (connectionId: string) => unknown): Login => {
  const action = useAction()
  const waited = useSignal<Waited | undefined>(undefined)
  const look = async () => {
    const before = waited.peek()
    if (before === undefined) return
    const login = await reins.connectionLogins.get({ connection_login_id: before.login.id })
    if (waited.peek() !== before || login.state === "pending" || login.state === "exchanging") return
    waited.value = undefined
    if (login.state === "completed" && login.connection_id !== null) await done(login.connection_id)
    else
      await action.run("the login", () =>
        Promise.reject(new Error(login.reason_message ?? "Nobody has logged in within ten minutes. Try again."))
      )
  }
  // A look that fails is made again with the next one.
  useEvery(1500, waited.value !== undefined, () => void look().catch(() => {}))
  return {
    action,
    waited: waited.value,
    stop: () => {
      waited.value = undefined
    },
    begin: (input) => {
      const tab = open("", "_blank")
      void action.run("the server's login", async () => {
        try {
          const { authorize_url, login } = await reins.connectionLogins.create(input)
          waited.value = { login, address: authorize_url }
          if (tab === null) return
          tab.opener = null
          tab.location.replace(authorize_url)
        } catch (error) {
          tab?.close()
          throw error
        }
      })
    }
  }
}

const WaitedLogin = ({ of: { stop, waited } }: { readonly of: Login }) =>
  waited === undefined ? null : (
    <div>
      <Waiting what={`your login at ${new URL(waited.login.authorization_server).host}`} />
      <p class="actions">
        <a class="button small" href={waited.address} target="_blank" rel="noreferrer">
          Open the login
        </a>
        <button type="button" class="small" onClick={stop}>
          Stop waiting
        </button>
      </p>
    </div>
  )

/** A button that logs a person in to a server of tools. */
export const ServerLoginButton = ({
  children,
  done,
  input,
  isOff = false
}: {
  readonly children: string
  readonly input: ConnectionLoginsCreateInput
  readonly done: (connectionId: string) => unknown
  readonly isOff?: boolean
}) => {
  const login = useServerLogin(done)
  return (
    <>
      {login.waited === undefined && (
        <button
          type="button"
          class="small"
          disabled={isOff || login.action.busy.value !== undefined}
          onClick={() => login.begin(input)}
        >
          {children}
        </button>
      )}
      <WaitedLogin of={login} />
      <Outcome of={login.action} />
    </>
  )
}

/** Makes a connection to a server of tools by a login in the browser. */
export const ServerLoginForm = ({
  done,
  workspaceId
}: {
  readonly workspaceId: string
  readonly done: (connectionId: string) => unknown
}) => {
  const login = useServerLogin(done)
  return (
    <Form
      of={login.action}
      send={(event) => {
        const given = Object.entries(fieldsOf(event)).filter(([, value]) => value !== "")
        login.begin({ workspace_id: workspaceId, ...Object.fromEntries(given) })
      }}
    >
      <Field label="Server URL" hint="As projects name it: https://mcp.example/mcp">
        <input name="server_url" type="url" required autocomplete="off" spellcheck={false} />
      </Field>
      <Field label="Name (optional)" hint="Empty for the host of the server.">
        <input name="label" />
      </Field>
      <details>
        <summary>For a server that wants more</summary>
        <Field label="Scopes (optional)" hint="With a space between them. Empty for those that the server names.">
          <input name="scopes" autocomplete="off" spellcheck={false} />
        </Field>
        <Field label="Client ID (optional)" hint="Of a client that you have registered there.">
          <input name="client_id" autocomplete="off" spellcheck={false} />
        </Field>
        <Field label="Client secret (optional)" hint="Of that client.">
          <input type="password" name="client_secret" autocomplete="off" />
        </Field>
      </details>
      {login.waited === undefined && (
        <p class="end">
          <button type="submit" class="primary" disabled={login.action.busy.value !== undefined}>
            Log in
          </button>
        </p>
      )}
      <WaitedLogin of={login} />
      <Outcome of={login.action} />
    </Form>
  )
}

/** The refusal of a login, for a person. */
export const loginSentence = ({ reason_message, state }: ConnectionLogin): string => {
  switch (state) {
    case "completed":
      return "You are logged in, and the connection is made. Close this page, and go on where you began."
    case "exchanging":
    case "pending":
      return "The login is being completed in another page."
    case "expired":
      return "The login has waited for more than ten minutes. Begin again."
    case "failed":
      return forPeople(reason_message ?? "The login has failed. Begin again.")
  }
}
