import { AttentionId, CheckId, newId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Database } from "@reins/core/store/Database"
import { Effect } from "effect"

/** Gives an open merge request a check that has failed, and a care that has proposed a changeset. */
export const caredFor = (of: {
  readonly mergeRequestId: string
  readonly sessionId: string
  readonly changesetId: string
  readonly accountId: string
  readonly headSha: string
}) =>
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const at = yield* now
    const request = { merge_request_id: of.mergeRequestId, head_sha: of.headSha }
    const checkId = yield* newId(CheckId)
    const attentionId = yield* newId(AttentionId)
    const check = { ...request, key: "run:ci:test", run: "7" }
    yield* run(
      sql`insert into request_checks ${sql.insert({ ...check, id: checkId, name: "test", state: "failing", optional: 0 })}`
    )
    const log = { text: "1 test failed", truncated: false, remarks: [] }
    yield* run(sql`insert into request_logs ${sql.insert({ ...check, log: JSON.stringify(log), read_at: at })}`)
    yield* run(
      sql`insert into attentions ${sql.insert({
        ...request,
        id: attentionId,
        session_id: of.sessionId,
        generation: 1,
        state: "proposed",
        fingerprint: "test",
        causes: JSON.stringify([{ kind: "checks", check_ids: [checkId], comment_ids: [] }]),
        proposes: 1,
        changeset_id: of.changesetId,
        created_at: at,
        updated_at: at
      })}`
    )
    const policy = {
      checks: "propose",
      reviews: "off",
      conflicts: "off",
      max_turns: 5,
      budget: null,
      rerun_first: true,
      bots: [],
      reply: "summary",
      deliver: "own_turns",
      protected_paths: [".github/workflows/**"]
    }
    yield* run(
      sql`insert into cares ${sql.insert({
        merge_request_id: of.mergeRequestId,
        policy: JSON.stringify(policy),
        state: "working",
        acts_for: of.accountId,
        generation: 1,
        turns: 1,
        spent_tokens: 0,
        attention_id: attentionId,
        version: 2,
        created_at: at,
        updated_at: at
      })}`
    )
    return { check_id: checkId, attention_id: attentionId }
  })
