import { join } from "node:path"
import type { SessionId } from "../domain/Ids.js"

/** Where a session lives on disk. Only `workTree` and `home` are the agent's; git is never run with anything in them as its configuration. */
export interface SessionPaths {
  readonly workTree: string
  readonly home: string
  readonly gitDir: string
  /** Held by the process that makes or removes the others. */
  readonly lock: string
  /** Held by the process that runs a turn in the workspace, changes it from outside or captures it. */
  readonly inUse: string
}

export const sessionPaths = (dataDir: string, sessionId: SessionId): SessionPaths => {
  const root = join(dataDir, "sessions", sessionId)
  return {
    workTree: join(root, "workspace"),
    home: join(root, "home"),
    gitDir: join(root, "trusted.git"),
    lock: join(root, "making.lock"),
    inUse: join(root, "in-use.lock")
  }
}
