import { createServer } from "node:http"
import { Boot } from "@reins/base/base/Boot"
import { type ConnectionId, MergeRequestId, newId } from "@reins/base/domain/Ids"
import { type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { makeLook } from "@reins/core/requests/looks/Look"
import { MergeRequestStore } from "@reins/core/requests/rows/MergeRequestStore"
import { WatchStore } from "@reins/core/requests/rows/WatchStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { unworked } from "@reins/testing/changes/DeliveryAttempts"
import { forgeConnection, sealed, system, token } from "@reins/testing/changes/Fixture"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { dialects, type KnownForge } from "@reins/testing/forge/ForgeDialects"
import { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { Effect, Layer } from "effect"

/** The commit that the branch of the request stands at. */
export const head = "c".repeat(40)

/** A forge with the branches `main` and `work`. An interlude is done before its call is answered; the key is the number of calls before it. */
const forgeServer = (kind: KnownForge) =>
  Effect.gen(function* () {
    const repository = kind === "gitlab" ? "acme/tools/shop" : "acme/shop"
    const forge = new ForgeServer(dialects[kind](repository), token, {
      headOf: (branch) => ({ main: "a".repeat(40), work: head })[branch],
      merge: () => {}
    })
    const interludes = new Map<number, () => Promise<unknown>>()
    const port = yield* onLoopback(() =>
      createServer(async (request, response) => {
        const interlude = interludes.get(forge.seen.length)
        interludes.delete(forge.seen.length)
        await interlude?.()
        if (!forge.handle(request, response)) response.writeHead(418).end()
      })
    )
    return { base: `http://127.0.0.1:${port}`, forge, interludes, repository }
  })

/** One of several processes on the database, with its own hold on watches. */
export const watchingProcess = (bootId: string) =>
  Effect.gen(function* () {
    const boot = { ...(yield* Boot), bootId, alone: false }
    const store = yield* Effect.provide(
      WatchStore,
      Layer.fresh(Layer.provide(WatchStore.layer, Layer.succeed(Boot, boot)))
    )
    return { ...store, look: yield* Effect.provideService(makeLook, WatchStore, store) }
  })

/** An open merge request that is looked at when a test does it. No worker runs. */
export const openRequest = (kind: KnownForge) =>
  Effect.gen(function* () {
    const { base, forge, interludes, repository } = yield* forgeServer(kind)
    const { changeset, principal, session } = yield* sealed
    const connection = yield* forgeConnection(kind, base)
    const delivery = yield* unworked(changeset, `${base}/${repository}.git`, "work")
    const journal = yield* Journal
    const store = yield* MergeRequestStore
    const db = yield* Database
    forge.add({ head: "work", base: "main" })
    const another = (connection_id: ConnectionId) =>
      journal.commit(
        Effect.gen(function* () {
          const id = yield* newId(MergeRequestId)
          const more = { connection_id, delivery_id: delivery.id, changeset_id: changeset.id, session_id: session.id }
          const branches = { head_branch: "work", base_branch: "main", title: "t", description: "", draft: false }
          yield* store.insert({ id, ...more, forge: kind, repository, ...branches }, system)
          const webUrl = `${base}/1`
          const remote = { number: 1, webUrl, state: "open", draft: false, description: "", headSha: head } as const
          yield* store.opened(id, remote, false, system)
          return id
        })
      )
    const id = yield* another(connection.id)
    const one = yield* watchingProcess("boot_one")
    const watch = Effect.flatMap(
      db.first(
        db.sql<{
          failures: number
          look_at: string
          paused_until: string | null
        }>`select * from watches where merge_request_id = ${id}`
      ),
      (row) => (row === undefined ? Effect.dieMessage("no watch") : Effect.succeed(row))
    )
    /** Makes it due, takes it and looks. */
    const look = Effect.gen(function* () {
      yield* db.run(db.sql`update watches set look_at = '2026-01-01T00:00:00.000Z' where merge_request_id = ${id}`)
      for (const held of yield* one.claim(5)) yield* one.look(held)
      return yield* read
    })
    const read = Effect.flatMap(store.find(id), (found) =>
      found === undefined ? Effect.dieMessage("no request") : Effect.succeed(found)
    )
    /** The time by the clock of the database, in milliseconds since 1970. */
    const nowMs = Effect.gen(function* () {
      const row = yield* db.first(db.sql<{ now: Timestamp }>`select ${yield* db.clock.at(0)} as now`)
      return toMillis(row?.now ?? (yield* Effect.dieMessage("no clock")))
    })
    /** The milliseconds until the next look, by the clock of the database. */
    const waitMs = Effect.gen(function* () {
      return Date.parse((yield* watch).look_at) - (yield* nowMs)
    })
    return {
      another,
      base,
      connection,
      db,
      forge,
      id,
      interludes,
      journal,
      look,
      nowMs,
      one,
      principal,
      read,
      session,
      store,
      waitMs,
      watch
    }
  })
