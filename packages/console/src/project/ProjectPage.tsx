import { useSignal } from "@preact/signals"
import type { Project, ProjectVersion } from "@reins/client"
import type { ComponentProps } from "preact"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { go } from "../route/Route.js"
import { Ask } from "../ui/Ask.js"
import { Await, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { Secrets } from "./Secrets.js"
import { Servers } from "./Servers.js"
import { Skills } from "./Skills.js"
import { SpecForm } from "./SpecForm.js"
import { SpecView } from "./SpecView.js"

/** A project with its versions. */
export const ProjectPage = ({ projectId }: { readonly projectId: string }) => {
  const project_id = projectId
  const project = useLoaded("the project", (signal) => reins.projects.get({ project_id }, { signal }), [projectId])
  const versions = useLoaded(
    "the versions",
    (signal) => wholeOf(reins.projects.listVersions({ project_id, limit: 100 }, { signal })),
    [projectId]
  )
  const isPublishing = useSignal(false)
  const isDeleting = useSignal(false)
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
                <button type="button" class="danger" onClick={() => (isDeleting.value = true)}>
                  Delete
                </button>
              </>
            )}
          </PageHead>
          <Outcome of={action} />
          {isDeleting.value && (
            <Ask
              title={`Delete ${value.name}?`}
              verb="Delete the project"
              isDanger
              close={() => (isDeleting.value = false)}
              act={() =>
                action.run("the deletion", async () => {
                  await reins.projects.delete({ project_id })
                  go("projects")
                })
              }
            >
              <p>Its versions, secrets and prepared setups go for good. Its sessions stay, without a project.</p>
            </Ask>
          )}
          <Await of={versions}>
            {({ items }) => (
              <>
                <Secrets projectId={projectId} />
                <Skills projectId={projectId} />
                <ServersOf
                  version={newestOf(items)}
                  mayPin={mayWrite.value && value.archived_at === null}
                  published={() => {
                    versions.reload()
                    project.reload()
                  }}
                />
                <h2>Versions</h2>
                <ul class="cards">
                  {newestFirst(items).map((version) => (
                    <VersionCard key={version.id} version={version} />
                  ))}
                </ul>
                {isPublishing.value && (
                  <Dialog title="Publish a version" isWide close={() => (isPublishing.value = false)}>
                    <SpecForm
                      projectId={projectId}
                      workspaceId={value.workspace_id}
                      from={newestOf(items)?.spec ?? {}}
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

const newestFirst = (versions: ReadonlyArray<ProjectVersion>): ReadonlyArray<ProjectVersion> =>
  [...versions].sort((one, other) => other.ordinal - one.ordinal)

const newestOf = (versions: ReadonlyArray<ProjectVersion>): ProjectVersion | undefined => newestFirst(versions)[0]

const ServersOf = ({
  version,
  ...given
}: Omit<ComponentProps<typeof Servers>, "version"> & { readonly version: ProjectVersion | undefined }) =>
  version === undefined ? null : <Servers version={version} {...given} />

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
    <SpecView spec={spec} />
  </li>
)
