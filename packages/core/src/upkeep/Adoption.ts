import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Database } from "../store/Database.js"

/** The sessions that are looked up at once. */
const batch = 500

/**
 * Gives the sessions whose files are on this disk, and which have no node yet, to this node. So one machine becomes the first of several. It does
 * nothing on one machine.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    if ((yield* Nodes).self === null) return
    const { dataDir } = yield* CoreConfig
    const { adopt } = yield* Placements
    const sessions = yield* SessionStore
    const { sql } = yield* Database
    const names = yield* Effect.promise(() => readdir(join(dataDir, "sessions")).catch((): Array<string> => []))
    for (let from = 0; from < names.length; from += batch) {
      const some = names.slice(from, from + batch)
      // A directory may have been left by a session of another database.
      const found = yield* sessions.select({ where: sql`${sql.in("sessions.id", some)} and workspace_state <> 'none'` })
      yield* adopt(found.map(({ id }) => id))
    }
  })
)
