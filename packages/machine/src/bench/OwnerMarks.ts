import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

// Names of setup snapshots and object stores tell nothing. These marks say whose they are, so that they can go with their project or workspace.

/** The workspace, and for what a setup has left the project, that a directory belongs to. */
export interface DirectoryOwner {
  readonly workspace_id: string
  readonly project_id: string | null
}

/** The mark of a setup snapshot, which is in its directory. */
export const setupMark = (snapshot: string): string => join(snapshot, "owner")

/** The mark of an object store, which stands beside its directory. */
export const storeMark = (store: string): string => `${store}.owner`

export const markOwner = (mark: string, owner: DirectoryOwner): Promise<void> => writeFile(mark, JSON.stringify(owner))

/** The owner that a mark names; undefined where there is no whole mark, as of a directory that an earlier release has made. */
export const readOwner = async (mark: string): Promise<DirectoryOwner | undefined> => {
  try {
    const found: unknown = JSON.parse(await readFile(mark, "utf8"))
    if (typeof found !== "object" || found === null || !("workspace_id" in found)) return undefined
    const project = "project_id" in found && typeof found.project_id === "string" ? found.project_id : null
    return typeof found.workspace_id === "string"
      ? { workspace_id: found.workspace_id, project_id: project }
      : undefined
  } catch {
    return undefined
  }
}
