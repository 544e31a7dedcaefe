import { join } from "node:path"
import type { SessionId } from "../domain/Ids.js"

/** The files of a session on disk. The agent may write to `workTree` and `home` only, so git never takes its configuration from them. */
export interface SessionPaths {
  /** The directory that holds the others. */
  readonly root: string
  readonly workTree: string
  readonly home: string
  readonly gitDir: string
  /** The working tree while it is being made. Nothing that an agent may write to leads there. */
  readonly making: string
  /** The file that a process locks while it makes or removes the others. */
  readonly lock: string
  /** The file that a process locks while it runs a turn in the workspace, changes the workspace from outside or captures it. */
  readonly inUse: string
}

/** The paths of a session below the data directory, absolute when that is. */
export const sessionPaths = (dataDir: string, sessionId: SessionId): SessionPaths => {
  const root = join(dataDir, "sessions", sessionId)
  return {
    root,
    workTree: join(root, "workspace"),
    home: join(root, "home"),
    gitDir: join(root, "trusted.git"),
    making: join(root, "making"),
    lock: join(root, "making.lock"),
    inUse: join(root, "in-use.lock")
  }
}
