import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Page } from "../domain/Page.js"
import { Project, ProjectSpec, ProjectVersion, Slug } from "../domain/Project.js"
import { extension, idPath, optional, patch, post, read, withStatus } from "./Endpoint.js"
import { boolean, pageFields } from "./Query.js"

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
const Text = Schema.String.pipe(Schema.maxLength(10_000))

export const ProjectInput = Schema.Struct({
  slug: Slug,
  name: Name,
  description: optional(Text),
  spec: optional(ProjectSpec)
}).annotations({ identifier: "ProjectInput" })
export type ProjectInput = typeof ProjectInput.Type

export const ProjectPatch = Schema.Struct({
  name: optional(Name),
  description: Schema.optionalWith(Schema.NullOr(Text), { exact: true }),
  archived: optional(Schema.Boolean),
  expected_version: optional(Schema.Int)
}).annotations({ identifier: "ProjectPatch" })
export type ProjectPatch = typeof ProjectPatch.Type

export const ProjectVersionInput = Schema.Struct({ spec: ProjectSpec, notes: optional(Text) }).annotations({
  identifier: "ProjectVersionInput"
})
export type ProjectVersionInput = typeof ProjectVersionInput.Type

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
  ) {}
