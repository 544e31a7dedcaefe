import { ChangesetId, newId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Database } from "@reins/core/store/Database"
import { Effect } from "effect"
import { caredFor } from "./CaredFor.js"
import { headSha, newMergeRequest, newSession, repository, type Tenant, textAt } from "./TenantParts.js"

/** The parts of a session of its own with a repository: an open merge request that is cared for. */
export const proposed = (tenant: Tenant) =>
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const { session } = yield* newSession(tenant, { repository: { url: repository } })
    const sessionId = textAt(session, "id")
    const at = yield* now
    const newChangeset = Effect.gen(function* () {
      const id = yield* newId(ChangesetId)
      yield* run(
        sql`insert into changesets ${sql.insert({
          id,
          session_id: sessionId,
          origin: "explicit",
          state: "ready",
          tree: "a".repeat(40),
          subject_digest: "sha256:0",
          files: "[]",
          additions: 0,
          deletions: 0,
          diagnostics: "[]",
          created_at: at,
          sealed_at: at
        })}`
      )
      return id
    })
    const delivered = yield* newChangeset
    const changesetId = yield* newChangeset
    const own = { ...tenant, ids: { ...tenant.ids, session_id: sessionId, changeset_id: delivered } }
    const mergeRequestId = yield* newMergeRequest(own)
    yield* run(sql`update merge_requests set forge = 'github' where id = ${mergeRequestId}`)
    const accountId = tenant.person.account.id
    const parts = yield* caredFor({ mergeRequestId, sessionId, changesetId, accountId, headSha })
    return { merge_request_id: mergeRequestId, ...parts }
  })
