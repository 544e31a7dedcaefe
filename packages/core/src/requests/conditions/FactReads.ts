import type { AccountId, ApiKeyId, WorkspaceId } from "@reins/base/domain/Ids"
import type { AccountPrincipal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { Access } from "../../access/Access.js"
import { type DeliveryRow, toDelivery } from "../../deliveries/DeliveryRows.js"
import { madeCommits } from "../../deliveries/MadeCommits.js"
import { ApiKeyStore } from "../../identity/ApiKeyStore.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { Database } from "../../store/Database.js"
import type { Rights } from "../looks/Objections.js"
import type { Sighting } from "../looks/Summing.js"
import type { ConditionRow } from "../rows/ConditionRows.js"
import { type UnmetCondition, unmet } from "../rows/MergeConditions.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { partReads } from "../rows/PartRows.js"
import type { RequestStanding, WaitingKind } from "../rows/RequestStanding.js"
import { type SeenVerdict, unmetOf } from "./ConditionDecision.js"
import { VerdictStore } from "./VerdictStore.js"

/** An account as the caller of a merge that it has left to its conditions. */
const principalOf = (accountId: AccountId, keyId: ApiKeyId | null, workspaceId: WorkspaceId): AccountPrincipal => ({
  accountId,
  scopes: ["read", "write"],
  workspaceId,
  via: keyId === null ? { kind: "embedded" } : { kind: "api_key", keyId }
})

/** Gives the function that says whether an account may change a session now. With a key, the key has to be good too. */
export const makeMayChange = Effect.gen(function* () {
  const access = yield* Access
  const keys = yield* ApiKeyStore
  return Effect.fnUntraced(function* (
    { actsFor, apiKeyId }: Pick<ConditionRow, "actsFor" | "apiKeyId">,
    { id, workspace_id }: Pick<SessionRow, "id" | "workspace_id">
  ) {
    if (!(yield* keys.mayActFor(actsFor, apiKeyId))) return false
    const principal = principalOf(actsFor, apiKeyId, workspace_id)
    return yield* Effect.isSuccess(access.writeWithin(principal, workspace_id, [id]))
  })
})

/**
 * Gives the function that finds everything in the way of a merge by its conditions. It reads what the last look has written down, which is all about
 * one head.
 */
export const makeUnmet = Effect.gen(function* () {
  const verdicts = yield* VerdictStore
  const mayChange = yield* makeMayChange
  const delivered = yield* makeDelivered
  const sightingOf = yield* makeSighting

  const seenVerdicts = Effect.fnUntraced(function* (session: SessionRow, digest: string) {
    const seen: Array<SeenVerdict> = []
    for (const verdict of yield* verdicts.ofDigest(session.id, digest)) {
      const { account_id: accountId, delegation_id: delegationId } = verdict
      seen.push({
        verdict: verdict.verdict,
        from: verdict.from,
        by: accountId ?? delegationId ?? "",
        subjectDigest: verdict.subject_digest,
        counts: accountId === null || (yield* mayChange({ actsFor: accountId, apiKeyId: null }, session))
      })
    }
    return seen
  })

  return Effect.fnUntraced(function* (request: MergeRequest, session: SessionRow, { seen, shown }: ConditionRow) {
    const { head_sha: head, standing } = request
    const { rules, writers = {} } = seen
    if (head === null || standing === null || standing.checks.head_sha !== head) return [notLookedAt]
    const unreadable = standing.waiting_for.find(({ kind }) => kind === "forge_unreadable")
    if (unreadable !== undefined) return [unmet("forge_unreadable", unreadable.message)]
    if (rules?.demands === undefined || rules.base !== request.base_branch) return [notLookedAt]
    const rights = new Map(Object.entries(writers).map(([login, known]) => [login, known?.may ?? null] as const))
    const sighting = yield* sightingOf(request, standing, rights)
    if (sighting.checks.some(({ identity }) => identity === null)) return [notLookedAt]
    const digest = yield* delivered(request, head)
    return unmetOf(shown, {
      sighting,
      requiredChecks: rules.requiredChecks,
      demands: rules.demands,
      obstacle: standing.waiting_for.find(({ kind }) => kind === "forge_blocks"),
      anyMethod: seen.anyMethod === true,
      deliveredDigest: digest,
      verdicts: digest === null ? [] : yield* seenVerdicts(session, digest)
    })
  })
})

const notLookedAt: UnmetCondition = unmet("not_looked_at", "The forge has not been read since the last change.")

/** Gives the function that finds the digest of the changeset whose very files a delivered commit has; null for any other commit. */
const makeDelivered = Effect.map(
  Database,
  ({ all, sql }) =>
    ({ head_branch, session_id }: MergeRequest, head: string) =>
      Effect.map(
        all(sql<DeliveryRow & { readonly tree: string; readonly subject_digest: string }>`select deliveries.*,
            changesets.tree, changesets.subject_digest from deliveries
          join changesets on changesets.id = deliveries.changeset_id
          where deliveries.session_id = ${session_id} and target_ref = ${head_branch} and commit_sha = ${head}
            and deliveries.state = 'succeeded' and changesets.state = 'ready' order by deliveries.id desc`),
        (rows): string | null => {
          const found = rows.find(({ subject_digest: _, tree, ...row }) =>
            // A commit on top of others may hold their files too.
            madeCommits(toDelivery(row)).some((made) => made.commit === head && made.tree === tree)
          )
          return found?.subject_digest ?? null
        }
      )
)

/** Gives the function that finds what the last look has seen of a merge request. */
const makeSighting = Effect.map(partReads, ({ judgedReviewsOf, seenChecksOf, threadsOf }) =>
  Effect.fnUntraced(function* (request: MergeRequest, standing: RequestStanding, rights: Rights) {
    const headSha = standing.checks.head_sha
    const said = (kind: WaitingKind) => standing.waiting_for.find((each) => each.kind === kind)?.message
    const part = <Name extends "checks" | "reviews" | "threads">(name: Name) => {
      const [unread, left] = [said(`${name}_unreadable`), said(`${name}_incomplete`)]
      return {
        unread: unread !== undefined && { [name]: { kind: "rejected" as const, message: wordsOf(unread) } },
        left: left !== undefined && { [name]: left }
      }
    }
    const parts = [part("checks"), part("reviews"), part("threads")]
    const sighting: Sighting = {
      headSha,
      isDraft: request.draft,
      isOurs: standing.head_is_ours,
      conflicts: standing.conflicts,
      checks: yield* seenChecksOf(request.id, headSha),
      reviews: yield* judgedReviewsOf(request.id),
      threads: yield* threadsOf(request.id),
      rights,
      left: Object.assign({}, ...parts.map(({ left }) => left)),
      unread: Object.assign({}, ...parts.map(({ unread }) => unread)),
      isLate: standing.waiting_for.some(({ kind }) => kind === "no_check_reports")
    }
    return sighting
  })
)

/** The words of the forge in a sentence of a look. */
const wordsOf = (message = ""): string => message.replace(/^The \w+ cannot be read\. /, "")
