import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, patch, post, put, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Page } from "@reins/base/domain/Page"
import { boolean, pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { Project, ProjectSecret, ProjectSpec, ProjectVersion, Slug } from "./Project.js"
import { environmentValue, SecretName } from "./ProjectSetup.js"

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
const Text = Schema.String.pipe(Schema.maxLength(10_000))

export const ProjectInput = Schema.Struct({
  slug: field(Slug, "Its short name, unique in the workspace."),
  name: field(Name, "Its name for people."),
  description: field(optional(Text), "Its description, at most 10,000 characters."),
  spec: field(optional(ProjectSpec), "What its sessions start from. It is published as the first version.")
}).annotations({ identifier: "ProjectInput", description: "A project to be." })
export type ProjectInput = typeof ProjectInput.Type

export const ProjectPatch = Schema.Struct({
  name: field(optional(Name), "The new name."),
  description: field(
    Schema.optionalWith(Schema.NullOr(Text), { exact: true }),
    "The new description, at most 10,000 characters; null for none."
  ),
  archived: field(optional(Schema.Boolean), "True archives the project, false opens it again."),
  expected_version: field(
    optional(Schema.Int),
    "The version that the change is meant for; another one is answered with `version_conflict`."
  )
}).annotations({ identifier: "ProjectPatch", description: "What is to change. Absent fields stay as they are." })
export type ProjectPatch = typeof ProjectPatch.Type

export const ProjectVersionInput = Schema.Struct({
  spec: field(ProjectSpec, "What sessions start from."),
  notes: field(optional(Text), "What is to be said of the version, at most 10,000 characters.")
}).annotations({
  identifier: "ProjectVersionInput",
  description: "A version to publish."
})
export type ProjectVersionInput = typeof ProjectVersionInput.Type

/** The field has a name that marks its content as a secret wherever a request is shown. */
export const ProjectSecretInput = Schema.Struct({
  secret: field(
    environmentValue.pipe(Schema.minLength(1)),
    "The value, at most 32,768 characters. It is sealed, and no answer, event or log holds it."
  )
}).annotations({ identifier: "ProjectSecretInput", description: "The value of a secret." })
export type ProjectSecretInput = typeof ProjectSecretInput.Type

export const ProjectSecretList = Schema.Struct({
  items: field(Schema.Array(ProjectSecret), "The secrets, by name.")
}).annotations({ identifier: "ProjectSecretList", description: "The secrets of a project, without their values." })
export type ProjectSecretList = typeof ProjectSecretList.Type

const secretPath = Schema.Struct({ project_id: Schema.String, name: SecretName })

export class ProjectsApi extends HttpApiGroup.make("projects")
  .add(
    read("list", "/api/workspaces/:workspace_id/projects", "List the projects of a workspace")
      .setPath(idPath("workspace_id"))
      .setUrlParams(
        Schema.Struct({
          ...pageFields,
          archived: Schema.optionalWith(boolean, { exact: true })
        })
      )
      .addSuccess(Page("ProjectList", Project))
      .annotateContext(extension)
  )
  .add(
    post("create", "/api/workspaces/:workspace_id/projects", "Create a project; a spec publishes its first version")
      .setPath(idPath("workspace_id"))
      .setPayload(ProjectInput)
      .addSuccess(withStatus(Project, 201))
      .annotateContext(extension)
  )
  .add(read("get", "/api/projects/:project_id", "Read a project").setPath(idPath("project_id")).addSuccess(Project))
  .add(
    patch("update", "/api/projects/:project_id", "Change a project")
      .setPath(idPath("project_id"))
      .setPayload(ProjectPatch)
      .addSuccess(Project)
  )
  .add(
    read("listVersions", "/api/projects/:project_id/versions", "List the published versions of a project")
      .setPath(idPath("project_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ProjectVersionList", ProjectVersion))
  )
  .add(
    post("publish", "/api/projects/:project_id/versions", "Publish a version")
      .setPath(idPath("project_id"))
      .setPayload(ProjectVersionInput)
      .addSuccess(withStatus(ProjectVersion, 201))
  )
  .add(
    read("listSecrets", "/api/projects/:project_id/secrets", "List the secrets of a project, without their values")
      .setPath(idPath("project_id"))
      .addSuccess(ProjectSecretList)
      .annotateContext(extension)
  )
  .add(
    put(
      "replaceSecret",
      "/api/projects/:project_id/secrets/:name",
      "Give a secret of a project its value, which never comes back",
      "admin"
    )
      .setPath(secretPath)
      .setPayload(ProjectSecretInput)
      .addSuccess(ProjectSecret)
      .annotateContext(extension)
  )
  .add(
    remove("removeSecret", "/api/projects/:project_id/secrets/:name", "Destroy a secret of a project", "admin")
      .setPath(secretPath)
      .addSuccess(ProjectSecret)
      .annotateContext(extension)
  ) {}
