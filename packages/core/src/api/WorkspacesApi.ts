import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Workspace } from "../domain/Account.js"
import { Page } from "../domain/Page.js"
import { extension, idPath, read } from "./Endpoint.js"
import { pageFields } from "./Query.js"

export class WorkspacesApi extends HttpApiGroup.make("workspaces")
  .add(
    read("list", "/api/workspaces", "List the workspaces that the caller belongs to")
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("WorkspaceList", Workspace))
      .annotateContext(extension)
  )
  .add(
    read("get", "/api/workspaces/:workspace_id", "Read a workspace")
      .setPath(idPath("workspace_id"))
      .addSuccess(Workspace)
      .annotateContext(extension)
  ) {}
