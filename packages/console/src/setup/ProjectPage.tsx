import { useSignal } from "@preact/signals"
import type { Project, ProjectSpec, ProjectVersion } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Await, Field, fieldsOf, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"

/** A project with its versions. */
export const ProjectPage = ({ projectId }: { readonly projectId: string }) => {
  const project_id = projectId
  const project = useLoaded("the project", (signal) => reins.projects.get({ project_id }, { signal }), [projectId])
  const versions = useLoaded(
    "the versions",
    (signal) => reins.projects.listVersions({ project_id, limit: 100 }, { signal }),
    [projectId]
  )
  const isPublishing = useSignal(false)
  const action = useAction()
  const archive = (archived: boolean) =>
    action.run("the project", async () => {
      await reins.projects.update({ project_id, archived })
      project.reload()
    })
  return (
    <Await of={project}>
      {(value) => (
        <>
          <PageHead title={value.name} under={<Under project={value} />}>
            {mayWrite.value && (
              <>
                <button type="button" class="primary" onClick={() => (isPublishing.value = true)}>
                  Publish a version
                </button>
                <button type="button" onClick={() => archive(value.archived_at === null)}>
                  {value.archived_at === null ? "Archive" : "Open again"}
                </button>
              </>
            )}
          </PageHead>
          <Outcome of={action} />
          <Await of={versions}>
            {({ items }) => (
              <>
                <ul class="cards">
                  {items.map((version) => (
                    <VersionCard key={version.id} version={version} />
                  ))}
                </ul>
                {isPublishing.value && (
                  <Dialog title="Publish a version" close={() => (isPublishing.value = false)}>
                    <VersionForm
                      projectId={projectId}
                      spec={newestOf(items)?.spec ?? {}}
                      done={() => {
                        isPublishing.value = false
                        versions.reload()
                        project.reload()
                      }}
                    />
                  </Dialog>
                )}
              </>
            )}
          </Await>
        </>
      )}
    </Await>
  )
}

const newestOf = (versions: ReadonlyArray<ProjectVersion>): ProjectVersion | undefined =>
  [...versions].sort((one, other) => other.ordinal - one.ordinal)[0]

const Under = ({ project: { archived_at, description, slug } }: { readonly project: Project }) => (
  <>
    <code>{slug}</code> {description ?? ""} {archived_at !== null && <State of="archived" />}
  </>
)

const VersionCard = ({ version: { notes, ordinal, published_at, spec } }: { readonly version: ProjectVersion }) => (
  <li>
    <div class="section-head">
      <h2>Version {ordinal}</h2>
      <span class="fine">
        <Time at={published_at} />
      </span>
    </div>
    {notes !== null && <p>{notes}</p>}
    <code class="block">{JSON.stringify(spec, null, 2)}</code>
  </li>
)

const VersionForm = ({
  done,
  projectId,
  spec
}: {
  readonly projectId: string
  readonly spec: ProjectSpec
  readonly done: () => void
}) => {
  const action = useAction()
  return (
    <form
      onSubmit={(event) => {
        const { notes = "", spec: text = "" } = fieldsOf(event)
        void action.run("the version", async () => {
          await reins.projects.publish({ project_id: projectId, spec: specOf(text), ...(notes !== "" && { notes }) })
          done()
        })
      }}
    >
      <Field
        label="Spec"
        hint="JSON, as the API takes it: repository, harness, executor, connection_ids, network, delivery, permissions."
      >
        <textarea class="code" name="spec" rows={12} spellcheck={false} defaultValue={JSON.stringify(spec, null, 2)} />
      </Field>
      <Field label="Notes (optional)">
        <input name="notes" />
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Publish
        </button>
      </p>
      <Outcome of={action} />
    </form>
  )
}

const specOf = (text: string): ProjectSpec => {
  try {
    // Boundary: the server checks what a person has written.
    return JSON.parse(text) as ProjectSpec
  } catch {
    throw new Error("The spec is no JSON.")
  }
}
