import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { HarnessInstall } from "../harness/Install.js"
import { Manifests } from "../harness/Manifests.js"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import type { WorkspaceSeed } from "../sessions/SessionOrigin.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Database } from "../store/Database.js"

/** The sessions that are looked up at once. */
const batch = 500

/** Gives the sessions whose files are on this disk, and which have no node yet, to this node. So one machine becomes the first of several. */
const adopt = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const placements = yield* Placements
  const sessions = yield* SessionStore
  const { sql } = yield* Database
  const names = yield* Effect.promise(() => readdir(join(dataDir, "sessions")).catch((): Array<string> => []))
  for (let from = 0; from < names.length; from += batch) {
    const some = names.slice(from, from + batch)
    // A directory may have been left by a session of another database.
    const found = yield* sessions.select({ where: sql`${sql.in("sessions.id", some)} and workspace_state <> 'none'` })
    yield* placements.adopt(found.map(({ id }) => id))
  }
})

/** Tells the other nodes which agents are installed on this one. */
const tellAgents = Effect.gen(function* () {
  const { tell } = yield* Nodes
  const { list } = yield* Manifests
  const install = yield* HarnessInstall
  const isInstalled = (providerId: string) =>
    Effect.map(Effect.orElseSucceed(install.find(providerId), Option.none), Option.isSome)
  const ids = list.map((manifest) => manifest.provider_id)
  yield* tell({ providers: Effect.filter(ids, isInstalled, { concurrency: "unbounded" }) })
})

/** Says by what the node of a session is chosen. A session is best beside the one that its files begin with. */
const tellNeeds = Effect.gen(function* () {
  const { describe } = yield* Placements
  const sessions = yield* SessionStore
  yield* describe((id) =>
    Effect.map(sessions.find(id), (row) => {
      const seed: WorkspaceSeed | null = JSON.parse(row?.seed ?? "null")
      return { providerId: row?.provider_id ?? null, besideId: seed?.session_id ?? row?.parent_session_id ?? null }
    })
  )
})

/** The begin of a node of several, before it works on anything. */
export const begin = Effect.all([adopt, tellAgents, tellNeeds], { discard: true })
