import { useSignal } from "@preact/signals"
import { useAction } from "../api/Loading.js"
import { me, reins } from "../api/Server.js"
import { allowNotices, canNotify, hasSound, refuseNotices, setSound, wish } from "../told/Notices.js"
import { PushSwitch } from "../told/PushSwitch.js"
import { Field, fieldsOf, Outcome, PageHead } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { Form } from "../ui/Form.js"
import { count } from "../words/Words.js"
import { Apps } from "./Apps.js"

/** The account of who is logged in. */
export const AccountPage = () => {
  const action = useAction()
  const ended = useSignal<number | undefined>(undefined)
  return (
    <>
      <PageHead title="Account" under={me.value?.account.email} />
      <h2>Change the password</h2>
      <Form
        of={action}
        class="narrow-form"
        send={(event) => {
          const { current_password = "", new_password = "" } = fieldsOf(event)
          const form = event.currentTarget
          void action.run("the change of the password", async () => {
            ended.value = (await reins.accounts.changePassword({ current_password, new_password })).sessions_revoked
            form.reset()
          })
        }}
      >
        <input
          class="sr"
          type="text"
          autocomplete="username"
          value={me.value?.account.email}
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
        <Field label="Current password">
          <input name="current_password" type="password" required autocomplete="current-password" />
        </Field>
        <Field label="New password">
          <input name="new_password" type="password" required minLength={8} autocomplete="new-password" />
        </Field>
        <p class="end">
          <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
            Change the password
          </button>
        </p>
        <Outcome of={action} />
        {ended.value !== undefined && (
          <p role="status">The password is changed, and {count(ended.value, "other login")} ended.</p>
        )}
      </Form>
      <Apps />
      <CommitAuthor />
      <Notices />
      <DeleteAccount />
    </>
  )
}

/** The author of the commits that the account asks for. Whoever reads a repository sees the address, so nothing is set by itself. */
const CommitAuthor = () => {
  const action = useAction()
  const known = me.value
  if (known === null || known === undefined) return null
  const set = (git: { readonly name: string; readonly email: string } | null) =>
    action.run("the author", async () => {
      me.value = { ...known, git: (await reins.accounts.updateMe({ git })).git }
    })
  return (
    <>
      <h2>Commits</h2>
      <p class="fine">
        {known.git === null
          ? "The service is the author of the commits that you ask for."
          : `You are the author of the commits that you ask for, as ${known.git.name} <${known.git.email}>.`}
      </p>
      <Form
        of={action}
        class="narrow-form"
        send={(event) => {
          const { git_name = "" } = fieldsOf(event)
          void set({ name: git_name, email: known.account.email })
        }}
      >
        <Field
          label="Name in commits"
          hint={`With ${known.account.email}, which everybody who reads the repository sees.`}
        >
          <input
            name="git_name"
            required
            maxLength={200}
            defaultValue={known.git?.name ?? known.account.display_name ?? ""}
          />
        </Field>
        <p class="end">
          {known.git !== null && (
            <button type="button" disabled={action.busy.value !== undefined} onClick={() => void set(null)}>
              Remove
            </button>
          )}
          <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
            Save the name
          </button>
        </p>
        <Outcome of={action} />
      </Form>
    </>
  )
}

/** The password is asked for, because nothing of the account comes back. */
const DeleteAccount = () => {
  const action = useAction()
  const isAsking = useSignal(false)
  return (
    <>
      <h2>Delete the account</h2>
      <p class="fine">
        Your logins, keys and memberships go, and the workspaces in which nobody else is. What you made elsewhere stays.
      </p>
      <button type="button" class="danger" onClick={() => (isAsking.value = true)}>
        Delete the account
      </button>
      {isAsking.value && (
        <Dialog title="Delete the account?" close={() => (isAsking.value = false)}>
          <p>Nothing of it comes back.</p>
          <Form
            of={action}
            class="narrow-form"
            send={(event) => {
              const { password = "" } = fieldsOf(event)
              void action.run("the deletion", async () => {
                await reins.accounts.delete({ password })
                me.value = null
              })
            }}
          >
            <Field label="Password">
              <input name="password" type="password" required autocomplete="current-password" />
            </Field>
            <p class="end">
              <button type="button" onClick={() => (isAsking.value = false)}>
                Cancel
              </button>
              <button type="submit" class="danger" disabled={action.busy.value !== undefined}>
                Delete for good
              </button>
            </p>
            <Outcome of={action} />
          </Form>
        </Dialog>
      )}
    </>
  )
}

/** The ways in which this browser tells of events while nobody looks. */
const Notices = () => (
  <>
    <h2>Notifications</h2>
    <p class="fine">For this browser: when a turn ends, fails or asks you while the page is hidden.</p>
    {canNotify() ? (
      <label class="check">
        <input
          type="checkbox"
          checked={wish.value === "on"}
          onChange={({ currentTarget }) => (currentTarget.checked ? void allowNotices() : refuseNotices())}
        />{" "}
        Notifications
      </label>
    ) : (
      <p class="fine">This browser does not allow notifications for this page.</p>
    )}
    <PushSwitch />
    <label class="check">
      <input
        type="checkbox"
        checked={hasSound.value}
        onChange={({ currentTarget }) => setSound(currentTarget.checked)}
      />{" "}
      Sound
    </label>
  </>
)
