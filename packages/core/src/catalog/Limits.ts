import { Context, Effect, Layer } from "effect"
import type { Limits as LimitValues } from "../api/CatalogApi.js"
import { CoreConfig } from "../CoreConfig.js"
import { maxQueuedTurns } from "../sessions/Turns.js"
import { retentionMs } from "../store/Idempotency.js"

/** The limits in force, as callers may read them. */
export class Limits extends Context.Tag("@reins/core/catalog/Limits")<Limits, LimitValues>() {
  static readonly layer = Layer.effect(
    Limits,
    Effect.map(CoreConfig, (config) =>
      Limits.of({
        message_characters: 100_000,
        json_body_bytes: 1024 * 1024,
        queued_turns_per_session: maxQueuedTurns,
        turn_minutes: config.turnDeadlineMs / 60_000,
        events_page: 1000,
        stream_seconds: 600,
        idempotency_hours: retentionMs / 3_600_000
      })
    )
  )
}
