import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import * as operations from "./Operations.js"
import * as ProjectSecretStore from "./ProjectSecretStore.js"
import { ProjectSecrets } from "./ProjectSecrets.js"
import { ProjectStore } from "./ProjectStore.js"
import { Projects } from "./Projects.js"
import { Skills } from "./Skills.js"

/** Versions of what sessions start from, and their secrets. */
export const projects = {
  name: "projects",
  layer: oneByOne(Projects.layer, ProjectSecrets.layer, Skills.layer).pipe(onTopOf(ProjectStore.layer)),
  operations,
  tables: ["projects", "project_versions"],
  sealed: ProjectSecretStore.secretRecords
} as const
