import { useSignal } from "@preact/signals"
import { type Action, useAction, useLoaded } from "../api/Loading.js"
import { reins, whoAmI } from "../api/Server.js"
import { choose, isOwner, workspaces } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Await, Field, fieldsOf, Outcome, PageHead } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { Form } from "../ui/Form.js"
import { count } from "../words/Words.js"
import { SigningKeys } from "./SigningKeys.js"

/** The workspace itself: its name, another one beside it, and the ways out of it. */
export const SettingsPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const workspace_id = workspaceId
  const found = useLoaded("the workspace", (signal) => reins.workspaces.get({ workspace_id }, { signal }), [
    workspaceId
  ])
  return (
    <>
      <PageHead title="Settings" />
      <Await of={found}>
        {({ name, personal, retention }) => (
          <>
            <Name workspaceId={workspaceId} name={name} />
            {isOwner.value && (
              <Retention workspaceId={workspaceId} days={retention.sessions_days} reload={found.reload} />
            )}
            {isOwner.value && <SigningKeys workspaceId={workspaceId} />}
            <NewWorkspace />
            {!personal && <Leave workspaceId={workspaceId} name={name} />}
            {!personal && isOwner.value && <Delete workspaceId={workspaceId} name={name} />}
          </>
        )}
      </Await>
    </>
  )
}

/** Shows another workspace that the account has, because this one is not the account's any more. */
const goElsewhere = async (leftId: string) => {
  const other = workspaces.value.find(({ id }) => id !== leftId)
  if (other !== undefined) choose(other.id)
  await whoAmI()
}

const Name = ({ name, workspaceId }: { readonly workspaceId: string; readonly name: string }) => {
  const action = useAction()
  return isOwner.value ? (
    <Form
      of={action}
      class="line-form"
      send={(event) => {
        const { name = "" } = fieldsOf(event)
        void action.run("the new name", async () => {
          await reins.workspaces.update({ workspace_id: workspaceId, name })
          await whoAmI()
        })
      }}
    >
      <Field label="Name of the workspace">
        <input name="name" required maxLength={100} defaultValue={name} />
      </Field>
      <button type="submit" disabled={action.busy.value !== undefined}>
        Rename
      </button>
      <Outcome of={action} />
    </Form>
  ) : (
    <p>
      Name of the workspace: <strong>{name}</strong>
    </p>
  )
}

const NewWorkspace = () => {
  const action = useAction()
  return (
    <section aria-label="New workspace">
      <h2>New workspace</h2>
      <p class="fine">A workspace has its own members, connections, projects and sessions. You are its owner.</p>
      <Form
        of={action}
        class="line-form"
        send={(event) => {
          const { new_name = "" } = fieldsOf(event)
          void action.run("the new workspace", async () => {
            const { id } = await reins.workspaces.create({ name: new_name })
            await whoAmI()
            choose(id)
          })
        }}
      >
        <Field label="Name of the new workspace">
          <input name="new_name" required maxLength={100} />
        </Field>
        <button type="submit" disabled={action.busy.value !== undefined}>
          Create
        </button>
        <Outcome of={action} />
      </Form>
    </section>
  )
}

/** A button that asks before what it does cannot be taken back. */
const Final = ({
  act,
  action,
  ask,
  title,
  verb
}: {
  readonly action: Action
  readonly title: string
  readonly verb: string
  readonly ask: string
  readonly act: () => unknown
}) => {
  const isAsking = useSignal(false)
  return (
    <p>
      <button
        type="button"
        class="danger"
        disabled={action.busy.value !== undefined}
        onClick={() => (isAsking.value = true)}
      >
        {verb}
      </button>
      <Outcome of={action} />
      {isAsking.value && (
        <Ask title={title} verb={verb} isDanger act={act} close={() => (isAsking.value = false)}>
          <p>{ask}</p>
        </Ask>
      )}
    </p>
  )
}

const Leave = ({ name, workspaceId }: { readonly workspaceId: string; readonly name: string }) => {
  const action = useAction()
  return (
    <section aria-label="Leave">
      <h2>Leave</h2>
      <p class="fine">Sessions that you made stay. A workspace keeps at least one owner.</p>
      <Final
        action={action}
        title={`Leave ${name}?`}
        verb="Leave the workspace"
        ask="Your keys for this workspace end at once. You see it again only when an owner invites you."
        act={() =>
          action.run("the leave", async () => {
            await reins.workspaces.leave({ workspace_id: workspaceId })
            await goElsewhere(workspaceId)
          })
        }
      />
    </section>
  )
}

/** The name of the workspace is typed, because nothing of it comes back. */
const Delete = ({ name, workspaceId }: { readonly workspaceId: string; readonly name: string }) => {
  const action = useAction()
  const isAsking = useSignal(false)
  return (
    <section aria-label="Delete">
      <h2>Delete</h2>
      <p class="fine">All sessions, projects, connections, keys and files of this workspace go. Nothing comes back.</p>
      <button type="button" class="danger" onClick={() => (isAsking.value = true)}>
        Delete the workspace
      </button>
      {isAsking.value && (
        <Dialog title={`Delete ${name}?`} close={() => (isAsking.value = false)}>
          <p>What runs is cancelled. All members lose the workspace at once.</p>
          <Form
            of={action}
            class="narrow-form"
            send={(event) => {
              const { confirm = "" } = fieldsOf(event)
              void action.run("the deletion", async () => {
                await reins.workspaces.delete({ workspace_id: workspaceId, confirm })
                isAsking.value = false
                await goElsewhere(workspaceId)
              })
            }}
          >
            <Field label={`Type ${name} to confirm`}>
              <input name="confirm" required autocomplete="off" />
            </Field>
            <p class="end">
              <button type="button" onClick={() => (isAsking.value = false)}>
                Cancel
              </button>
              <button type="submit" class="danger" disabled={action.busy.value !== undefined}>
                Delete the workspace
              </button>
            </p>
            <Outcome of={action} />
          </Form>
        </Dialog>
      )}
    </section>
  )
}

/** The days for which sessions are kept, and a question with the number of those that would go. */
const Retention = ({
  days,
  reload,
  workspaceId
}: {
  readonly workspaceId: string
  readonly days: number | null
  readonly reload: () => void
}) => {
  const workspace_id = workspaceId
  const action = useAction()
  const wanted = useSignal<{ readonly days: number; readonly sessions: number } | undefined>(undefined)
  const asked = wanted.value?.days ?? null
  const keep = (sessions_days: number | null) =>
    action.run("the retention", async () => {
      await reins.workspaces.update({ workspace_id, retention: { sessions_days } })
      reload()
    })
  return (
    <section aria-label="Retention">
      <h2>Retention</h2>
      <p class="fine">Archived and closed sessions are deleted for good so many days after their last use.</p>
      <Form
        of={action}
        class="line-form"
        send={(event) => {
          const given = Number(fieldsOf(event)["days"] ?? "")
          if (given < 1) return void keep(null)
          void action.run("the count", async () => {
            const { sessions } = await reins.workspaces.getRetentionPreview({ workspace_id, sessions_days: given })
            wanted.value = { days: given, sessions }
          })
        }}
      >
        <Field label="Days">
          <input name="days" type="number" min={1} max={36_500} placeholder="for ever" defaultValue={days ?? ""} />
        </Field>
        <button type="submit" disabled={action.busy.value !== undefined}>
          Save
        </button>
        <Outcome of={action} />
      </Form>
      {wanted.value !== undefined && (
        <Ask
          title={`Keep sessions for ${count(wanted.value.days, "day")}?`}
          verb="Delete old sessions"
          isDanger
          act={() => keep(asked)}
          close={() => (wanted.value = undefined)}
        >
          <p>{count(wanted.value.sessions, "session")} would be deleted for good within an hour, and others later.</p>
        </Ask>
      )}
    </section>
  )
}
