import { Context, Effect, Layer } from "effect"
import type { Limits as LimitValues } from "../api/CatalogApi.js"
import { maxUploadBytes } from "../api/SessionsApi.js"
import { CoreConfig } from "../CoreConfig.js"
import { maxAttachments } from "../domain/Message.js"
import { maxQueuedTurns } from "../sessions/Turns.js"
import { retentionMs } from "../store/Idempotency.js"
import { maxFileReadBytes } from "../workspace/Files.js"

/** The limits in force, as callers may read them. */
export class Limits extends Context.Tag("@reins/core/catalog/Limits")<Limits, LimitValues>() {
  static readonly layer = Layer.effect(
    Limits,
    Effect.map(CoreConfig, (config) =>
      Limits.of({
        message_characters: 100_000,
        attachments_per_message: maxAttachments,
        json_body_bytes: 1024 * 1024,
        upload_bytes: maxUploadBytes,
        file_read_bytes: maxFileReadBytes,
        executor_idle_minutes: config.idleReleaseMs / 60_000,
        queued_turns_per_session: maxQueuedTurns,
        turn_minutes: config.turnDeadlineMs / 60_000,
        interaction_minutes: config.interactionExpiryMs / 60_000,
        events_page: 1000,
        stream_seconds: 600,
        idempotency_hours: retentionMs / 3_600_000
      })
    )
  )
}
