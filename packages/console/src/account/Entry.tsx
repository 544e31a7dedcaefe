import { useSignal } from "@preact/signals"
import { type Action, useAction } from "../api/Loading.js"
import { reins, requireLoginCookie, serviceUrl, whoAmI } from "../api/Server.js"
import { go, path } from "../route/Route.js"
import { useTitle } from "../told/Title.js"
import { Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { Mark } from "../ui/Mark.js"
import { setupCode, setupEmail } from "./SetupCode.js"

type Way = "log_in" | "register" | "check_mail"

const enter = async (email: string, password: string) => {
  const { csrf_token } = await reins.accounts.login({ email, password })
  requireLoginCookie(csrf_token)
  await whoAmI()
}

/** Logs in, or makes an account. */
export const Entry = () => {
  const way = useSignal<Way>(setupCode.value === "" ? "log_in" : "register")
  const email = useSignal(setupEmail.value)
  const action = useAction()
  useTitle("Log in")
  const switchTo = (to: Way) => {
    action.failure.value = undefined
    way.value = to
  }
  return (
    <main class="lone entry">
      <Mark />
      {way.value === "log_in" && (
        <LogIn
          action={action}
          email={email.value}
          switchTo={() => switchTo("register")}
          keep={(given) => (email.value = given)}
        />
      )}
      {way.value === "register" && (
        <Register
          action={action}
          email={email.value}
          switchTo={() => switchTo("log_in")}
          accepted={(given) => {
            email.value = given
            way.value = "check_mail"
          }}
        />
      )}
      {way.value === "check_mail" && <CheckMail email={email.value} back={() => switchTo("log_in")} />}
      <Outcome of={action} />
    </main>
  )
}

interface EntryProps {
  readonly action: Action
  readonly email: string
  readonly switchTo: () => void
}

const LogIn = ({ action, email, keep, switchTo }: EntryProps & { readonly keep: (email: string) => void }) => (
  <>
    <h1>Log in</h1>
    {path.value !== "" && <p class="under">You are led to the page that you asked for.</p>}
    <Form
      of={action}
      send={(event) => {
        const { email = "", password = "" } = fieldsOf(event)
        keep(email)
        void action.run("the login", () => enter(email, password))
      }}
    >
      <Field label="E-mail address">
        <input name="email" type="email" required autocomplete="username" defaultValue={email} autofocus />
      </Field>
      <Field label="Password">
        <input name="password" type="password" required autocomplete="current-password" />
      </Field>
      <button type="submit" class="primary wide" disabled={action.busy.value !== undefined}>
        Log in
      </button>
    </Form>
    <p class="fine spread">
      <button type="button" class="link" onClick={switchTo}>
        Create an account
      </button>
      <a href={`${serviceUrl}/reset`} target="_self">
        Forgotten password
      </a>
    </p>
    <p class="fine">
      A new server has no account yet. Run <code>reins accounts first</code> on its machine: it prints the link that
      makes the first one.
    </p>
  </>
)

const Register = ({
  accepted,
  action,
  email,
  switchTo
}: EntryProps & { readonly accepted: (email: string) => void }) => {
  const asksCode = useSignal(false)
  const isFirst = asksCode.value || setupCode.value !== ""
  return (
    <>
      <h1>Create an account</h1>
      <Form
        of={action}
        send={(event) => {
          const { display_name = "", email = "", password = "", setup_code = "" } = fieldsOf(event)
          void action.run("the account", async () => {
            const { status } = await reins.accounts.register({
              email,
              password,
              display_name: display_name || null,
              setup_code: setup_code || null
            })
            if (status !== "verified") return accepted(email)
            setupCode.value = ""
            await enter(email, password)
            go("start")
          })
        }}
      >
        <Field label="Name">
          <input name="display_name" autocomplete="name" autofocus />
        </Field>
        <Field label="E-mail address">
          <input name="email" type="email" required autocomplete="username" defaultValue={email} />
        </Field>
        <Field label="Password" hint="A few words that nobody else would put together.">
          <input name="password" type="password" required minLength={8} autocomplete="new-password" />
        </Field>
        {isFirst ? (
          <Field
            label="Setup code"
            hint={
              <>
                For the first account of a server. <code>reins accounts first</code> prints it on the server's machine;
                no mail is needed then.
              </>
            }
          >
            <input
              name="setup_code"
              class="code"
              autocomplete="off"
              spellcheck={false}
              placeholder="XXXX-XXXX-XXXX-XXXX"
              defaultValue={setupCode.value}
            />
          </Field>
        ) : null}
        <button type="submit" class="primary wide" disabled={action.busy.value !== undefined}>
          Create the account
        </button>
      </Form>
      <p class="fine spread">
        <button type="button" class="link" onClick={switchTo}>
          I have an account
        </button>
        {!isFirst && (
          <button type="button" class="link" onClick={() => (asksCode.value = true)}>
            I have a setup code
          </button>
        )}
      </p>
    </>
  )
}

const CheckMail = ({ back, email }: { readonly email: string; readonly back: () => void }) => (
  <>
    <h1>Check your mail</h1>
    <p>
      A link went to <strong>{email}</strong>. Open it to verify your address, then log in.
    </p>
    <p class="fine">
      A server without a mail server writes its mails to the folder <code>outbox</code> of its data directory. The first
      account of a server needs no mail: whoever runs it makes the account with the link that{" "}
      <code>reins accounts first</code> prints.
    </p>
    <button type="button" class="primary wide" onClick={back}>
      Log in
    </button>
  </>
)
