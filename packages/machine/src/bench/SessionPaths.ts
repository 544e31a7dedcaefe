import { join } from "node:path"
import type { SessionId } from "@reins/base/domain/Ids"
import type { AgentPlaces } from "../executor/Executor.js"

/** The files of a session on disk. The agent may write to `workTree` and `home` only, so git never takes its configuration from them. */
export interface SessionPaths {
  /** The directory that holds the others. */
  readonly root: string
  readonly workTree: string
  readonly home: string
  readonly gitDir: string
  /** The working tree while it is being made. Nothing that an agent may write to leads there. */
  readonly making: string
  /** The file that says that what is at the other paths was begun by a restore, which may begin anew. */
  readonly restoring: string
  /** The file that says that the workspace is back from a snapshot, without what the setup of its project has left beside it. */
  readonly setupOwed: string
}

/** The directory with a directory for each session. */
export const sessionsIn = (dataDir: string): string => join(dataDir, "sessions")

/** The directory for objects of sessions whose files other nodes have. What is there is in use, or was left behind by a killed process. */
export const objectsIn = (dataDir: string): string => join(dataDir, "objects")

/**
 * The directories of a session as its agent finds them where its executor has paths of its own. They are the same on every machine, because the
 * agent's own state names them.
 */
export const agentPlaces = (sessionId: SessionId): AgentPlaces => ({
  workspaceDir: `/reins/s/${sessionId}/workspace`,
  homeDir: `/reins/s/${sessionId}/home`
})

/** A file that came with messages and is no part of the working tree: its own name, and its digest as in `sha256:<hex>`. */
export interface AttachedFile {
  readonly name: string
  readonly digest: string
}

/** The path of an attached file from the home of the agent. Equal files with one name are one file. */
export const attachmentPath = ({ digest, name }: AttachedFile): string =>
  `attachments/${digest.slice("sha256:".length).slice(0, 16)}/${name}`

/** The paths of a session below the data directory, absolute when that is. */
export const sessionPaths = (dataDir: string, sessionId: SessionId): SessionPaths => {
  const root = join(sessionsIn(dataDir), sessionId)
  return {
    root,
    workTree: join(root, "workspace"),
    home: join(root, "home"),
    gitDir: join(root, "trusted.git"),
    making: join(root, "making"),
    restoring: join(root, "restoring"),
    setupOwed: join(root, "setup-owed")
  }
}
