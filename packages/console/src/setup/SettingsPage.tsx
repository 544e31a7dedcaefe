import { useSignal } from "@preact/signals"
import { type Action, useAction, useLoaded } from "../api/Loading.js"
import { reins, whoAmI } from "../api/Server.js"
import { choose, isOwner, workspaces } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Await, Field, fieldsOf, Outcome, PageHead } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"

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
        {({ name, personal }) => (
          <>
            <Name workspaceId={workspaceId} name={name} />
            <NewWorkspace />
            {!personal && <Leave workspaceId={workspaceId} name={name} />}
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
