import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import type { SessionId } from "../domain/Ids.js"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import { setAside } from "../sessions/AwaitedFiles.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Database } from "../store/Database.js"

/** The sessions that are looked up at once. */
const batch = 500

/**
 * Gives the sessions whose files are on this disk, and which have no node yet, to this node. So one machine becomes the first of several. The files of
 * sessions that went to other nodes, while this one was away, are moved to `lost+found`. It does nothing on one machine.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    if ((yield* Nodes).self === null) return
    const { dataDir } = yield* CoreConfig
    const { adopt, at } = yield* Placements
    const leave = Effect.fnUntraced(function* (id: SessionId) {
      const place = yield* at(id)
      if (place.kind === "here" || place.kind === "nowhere") return
      const to = yield* setAside(dataDir, id, place.epoch)
      if (to !== null)
        yield* Effect.logWarning("files of a session that another node has were moved away", { session_id: id, to })
    })
    const sessions = yield* SessionStore
    const { sql } = yield* Database
    const names = yield* Effect.promise(() => readdir(join(dataDir, "sessions")).catch((): Array<string> => []))
    for (let from = 0; from < names.length; from += batch) {
      const some = names.slice(from, from + batch)
      // A directory may have been left by a session of another database.
      const found = yield* sessions.select({ where: sql`${sql.in("sessions.id", some)} and workspace_state <> 'none'` })
      const ids = found.map(({ id }) => id)
      yield* adopt(ids)
      yield* Effect.forEach(ids, leave, { discard: true })
    }
  })
)
