import type { ProjectVersion, Reins } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"

/** The version of a project with this ordinal, or the newest one. Fails with words for people where there is none. */
export const projectVersion = async (
  { projects }: Reins,
  project_id: string,
  wanted: string | undefined
): Promise<ProjectVersion> => {
  let newest: ProjectVersion | undefined
  // The oldest comes first.
  for await (const version of projects.listVersions({ project_id, limit: 200 })) {
    if (String(version.ordinal) === wanted) return version
    newest = version
  }
  if (wanted === undefined && newest !== undefined) return newest
  throw new CommandFailed({
    message: wanted === undefined ? "The project has no version yet." : `The project has no version ${wanted}.`
  })
}
