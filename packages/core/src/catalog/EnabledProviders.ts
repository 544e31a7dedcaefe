import { now } from "@reins/base/domain/Timestamp"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"

/** The ids of the optional providers that a database has as enabled. */
export const enabledIn = Effect.flatMap(Database, ({ all, sql }) =>
  Effect.map(all(sql<{ provider_id: string }>`select provider_id from enabled_providers`), (rows) =>
    rows.map(({ provider_id }) => provider_id)
  )
)

/** The optional providers that are enabled, as rows, and the manifests of this process that follow them. */
export class EnabledProviders extends Context.Tag("@reins/core/catalog/EnabledProviders")<
  EnabledProviders,
  {
    /** Offers providers from the commit on: here at once, and in other processes as soon as somebody asks for them. */
    readonly enable: (providerIds: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    /** Offers providers no more. A process that runs does so until it is started anew. */
    readonly disable: (providerIds: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    /** Takes in what was enabled through other processes. */
    readonly refresh: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    EnabledProviders,
    Effect.gen(function* () {
      const database = yield* Database
      const { run, sql } = database
      const journal = yield* Journal
      const manifests = yield* Manifests
      const refresh = Effect.flatMap(Effect.provideService(enabledIn, Database, database), manifests.enable)
      yield* refresh
      return EnabledProviders.of({
        refresh,
        enable: Effect.fnUntraced(function* (ids) {
          const enabled_at = yield* now
          for (const provider_id of ids)
            yield* run(sql`insert into enabled_providers ${sql.insert({ provider_id, enabled_at })}
              on conflict (provider_id) do nothing`)
          yield* journal.afterCommit(manifests.enable(ids))
        }),
        disable: (ids) => run(sql`delete from enabled_providers where ${sql.in("provider_id", ids)}`)
      })
    })
  )
}
