import { useSignal } from "@preact/signals"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { go } from "../route/Route.js"
import { Await, Field, fieldsOf, Nothing, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { Form } from "../ui/Form.js"

/** The projects of the workspace: what sessions begin from. */
export const ProjectsPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = useLoaded(
    "the projects",
    (signal) => wholeOf(reins.projects.list({ workspace_id: workspaceId, limit: 100 }, { signal })),
    [workspaceId]
  )
  const isMaking = useSignal(false)
  return (
    <>
      <PageHead
        title="Projects"
        under="What sessions begin from: a repository, an agent and its rules. Each change is a version."
      >
        {mayWrite.value && (
          <button type="button" class="primary" onClick={() => (isMaking.value = true)}>
            New project
          </button>
        )}
      </PageHead>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>There is no project. A session can do without one.</Nothing>
          ) : (
            <ul class="rows">
              {items.map(({ archived_at, id, latest_version, name, slug, updated_at }) => (
                <li class="row-line" key={id}>
                  <a href={`projects/${id}`}>{name}</a>
                  <code>{slug}</code>
                  <span class="fine">
                    {latest_version === null ? "no version" : `version ${latest_version.ordinal}`} ·{" "}
                    <Time at={updated_at} />
                  </span>
                  {archived_at !== null && <State of="archived" />}
                </li>
              ))}
            </ul>
          )
        }
      </Await>
      {isMaking.value && (
        <Dialog title="New project" close={() => (isMaking.value = false)}>
          <ProjectForm workspaceId={workspaceId} />
        </Dialog>
      )}
    </>
  )
}

const ProjectForm = ({ workspaceId }: { readonly workspaceId: string }) => {
  const action = useAction()
  const url = useSignal("")
  return (
    <Form
      of={action}
      send={(event) => {
        const { base_ref = "", description = "", name = "", slug = "", url = "" } = fieldsOf(event)
        void action.run("the project", async () => {
          const project = await reins.projects.create({
            workspace_id: workspaceId,
            name,
            slug,
            ...(description !== "" && { description }),
            spec: url === "" ? {} : { repository: { url, ...(base_ref !== "" && { base_ref }) } }
          })
          go(`projects/${project.id}`)
        })
      }}
    >
      <Field label="Name">
        <input name="name" required autofocus />
      </Field>
      <Field label="Slug" hint="Small letters, digits and dashes.">
        <input name="slug" required pattern="[a-z0-9][a-z0-9\-]*" />
      </Field>
      <Field label="Description (optional)">
        <input name="description" />
      </Field>
      <Field label="Repository (optional)">
        <input
          name="url"
          placeholder="https://github.com/you/project.git"
          value={url.value}
          onInput={({ currentTarget }) => (url.value = currentTarget.value)}
        />
      </Field>
      <Field
        label="From (optional)"
        hint={url.value.trim() === "" ? "Name a repository first." : "A branch, tag or commit."}
      >
        <input name="base_ref" disabled={url.value.trim() === ""} />
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Create the project
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}
