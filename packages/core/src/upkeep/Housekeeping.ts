import { Effect, Layer, Schedule } from "effect"
import { EventRetention } from "../events/EventRetention.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import { Accounts } from "../identity/Accounts.js"
import { LoginSessions } from "../identity/LoginSessions.js"
import { Members } from "../identity/Members.js"
import { setupSweep } from "../sessions/setup/SetupSweep.js"
import { Snapshots } from "../sessions/snapshots/Snapshots.js"
import { logDefect } from "../store/FailedStatement.js"
import { Idempotency } from "../store/Idempotency.js"
import { WebhookStore } from "../webhooks/WebhookStore.js"

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
      blobs: (yield* Snapshots).collect
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
