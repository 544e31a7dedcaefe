import { existsSync } from "node:fs"
import * as fs from "node:fs/promises"
import { attempt } from "../../files/Beneath.js"
import type { SessionPaths } from "../SessionPaths.js"

/** Notes that the files of a session came back from a snapshot which left these paths out, where a setup has filled them before. */
export const noteOwedSetup = ({ setupOwed }: SessionPaths, leftOut: ReadonlyArray<string>) =>
  attempt(setupOwed, () => fs.writeFile(setupOwed, JSON.stringify(leftOut), { mode: 0o600 }))

/** The paths that the workspace of a session had before its last restore, and that nobody has brought back since. */
export const owedPaths = async ({ setupOwed }: SessionPaths): Promise<ReadonlyArray<string>> =>
  // Boundary: `noteOwedSetup` has written it.
  existsSync(setupOwed) ? (JSON.parse(await fs.readFile(setupOwed, "utf8")) as ReadonlyArray<string>) : []
