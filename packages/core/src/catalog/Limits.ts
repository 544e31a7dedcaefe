import { CoreConfig } from "@reins/base/base/CoreConfig"
import { maxAttachments } from "@reins/base/base/CoreLimits"
import { Context, Effect, Layer } from "effect"
import { retentionMs } from "../store/AnswerStore.js"
import type { Limits as LimitValues } from "./CatalogApi.js"

/** The limits in force, as callers may read them. */
export class LimitsInForce extends Context.Tag("@reins/core/catalog/Limits")<LimitsInForce, LimitValues>() {
  static readonly layer = Layer.effect(
    LimitsInForce,
    Effect.map(CoreConfig, ({ idleReleaseMs, interactionExpiryMs, limits, turnDeadlineMs }) =>
      LimitsInForce.of({
        message_characters: limits.messageCharacters,
        attachments_per_message: maxAttachments,
        json_body_bytes: limits.jsonBodyBytes,
        upload_bytes: limits.uploadBytes,
        file_read_bytes: limits.fileReadBytes,
        diff_bytes: limits.diffBytes,
        diff_file_bytes: limits.diffFileBytes,
        diff_files: limits.diffFiles,
        executor_idle_minutes: idleReleaseMs / 60_000,
        queued_turns_per_session: limits.queuedTurns,
        turn_minutes: turnDeadlineMs / 60_000,
        interaction_minutes: interactionExpiryMs / 60_000,
        delegation_depth: limits.delegationDepth,
        live_delegations_per_session: limits.liveDelegations,
        delegations_per_tree: limits.treeDelegations,
        artifact_bytes: limits.artifactBytes,
        artifacts_per_turn: limits.artifactsPerTurn,
        artifacts_per_session: limits.artifactsPerSession,
        offered_tools: limits.offeredTools,
        tool_calls_per_turn: limits.toolCallsPerTurn,
        open_tool_calls_per_turn: limits.openToolCalls,
        tool_input_characters: limits.toolInputCharacters,
        tool_answer_characters: limits.toolAnswerCharacters,
        tool_answer_images: limits.toolAnswerImages,
        server_answer_bytes: limits.serverAnswerBytes,
        servers_per_version: limits.serversPerVersion,
        server_tools_per_version: limits.serverToolsPerVersion,
        requests_per_minute: limits.requestsPerMinute,
        registrations_per_hour: limits.registrationsPerHour,
        sessions_per_workspace: limits.sessionsPerWorkspace,
        working_trees_per_workspace: limits.workingTreesPerWorkspace,
        disk_bytes_per_workspace: limits.diskBytesPerWorkspace,
        streams_per_session: limits.streamsPerSession,
        events_page: 1000,
        stream_seconds: 600,
        event_retention_days: limits.eventRetentionDays,
        idempotency_hours: retentionMs / 3_600_000
      })
    )
  )
}
