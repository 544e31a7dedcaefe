import { existsSync } from "node:fs"
import { Effect, Layer, Schedule } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { EventRetention } from "../events/EventRetention.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import { storesIn } from "../git/StorePlace.js"
import { Accounts } from "../identity/Accounts.js"
import { LoginSessions } from "../identity/LoginSessions.js"
import { Members } from "../identity/Members.js"
import { logDefect } from "../store/FailedStatement.js"
import { Idempotency } from "../store/Idempotency.js"
import { WebhookStore } from "../webhooks/WebhookStore.js"
import { setupSweep } from "../worktrees/setup/SetupSweep.js"
import { Snapshots } from "../worktrees/snapshots/Snapshots.js"

/** A machine without object stores loads none of it. */
const objectSweep = Effect.map(CoreConfig, (config) =>
  Effect.suspend(() =>
    existsSync(storesIn(config.dataDir))
      ? Effect.promise(() => import("../worktrees/StoreSweep.js")).pipe(
          Effect.flatMap(({ storeSweep }) => storeSweep),
          Effect.flatten,
          Effect.provideService(CoreConfig, config)
        )
      : Effect.void
  )
)

/** Deletes records that can no longer be used, at the start and then every hour. A deletion that fails is tried again an hour later. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const purges = {
      accounts: (yield* Accounts).purge,
      logins: (yield* LoginSessions).purge,
      invitations: (yield* Members).purge,
      answers: (yield* Idempotency).purge,
      webhooks: (yield* WebhookStore).purge,
      events: Effect.zipRight((yield* WorkspaceEvents).keepUp, (yield* EventRetention).purge),
      setups: yield* setupSweep,
      blobs: (yield* Snapshots).collect,
      objects: yield* objectSweep
    }
    const sweep = Effect.forEach(
      Object.entries(purges),
      ([records, purge]) =>
        Effect.catchAllDefect(purge, (defect) =>
          Effect.annotateLogs(logDefect("old records could not be deleted", defect), { records })
        ),
      { discard: true }
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("1 hour")))
  })
)
