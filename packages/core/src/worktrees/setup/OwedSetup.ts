import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { Effect } from "effect"
import { CoreConfig } from "../../base/CoreConfig.js"
import { attempt } from "../../files/Beneath.js"
import { Projects } from "../../projects/Projects.js"
import type { SessionRow } from "../../sessions/SessionRow.js"
import { type SessionPaths, sessionPaths } from "../SessionPaths.js"
import { hasSetup } from "./WorkspaceSetup.js"

/** Notes that a workspace came back from a snapshot which left these paths out, where a setup has filled it before. */
export const oweSetup = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const projects = yield* Projects
  return Effect.fnUntraced(function* (session: SessionRow, leftOut: ReadonlyArray<string>) {
    if (!hasSetup(yield* projects.specOf(session))) return
    const { setupOwed } = sessionPaths(dataDir, session.id)
    yield* attempt(setupOwed, () => fs.writeFile(setupOwed, JSON.stringify(leftOut), { mode: 0o600 }))
  })
})

/** The paths that the workspace of a session had before its last restore, and that nobody has brought back since. */
export const owedPaths = async ({ setupOwed }: SessionPaths): Promise<ReadonlyArray<string>> =>
  // Boundary: `oweSetup` has written it.
  existsSync(setupOwed) ? (JSON.parse(await fs.readFile(setupOwed, "utf8")) as ReadonlyArray<string>) : []
