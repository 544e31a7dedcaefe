import { CoreConfig } from "@reins/base/base/CoreConfig"
import { DelegationId, newId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { actorOf, type Unseen } from "../access/Access.js"
import { Changesets } from "../changes/Changesets.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionLifecycles } from "../sessions/creation/SessionLifecycles.js"
import type { ChildSession } from "../sessions/creation/SessionOrigin.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { DelegationStore } from "./DelegationStore.js"
import type { DelegationInput } from "./DelegationsApi.js"

/** The kind of the job that ends a delegation at its deadline; its payload is `{delegation_id}`. */
export const deadlineJobKind = "delegation.deadline"

/**
 * Gives the function that makes a delegation and its child session, which has no message yet. The commit holds the parent. Fails with
 * `delegation_limit`, with `stale_subject` for an unsealed changeset, and as `SessionLifecycles.spawn` does.
 */
export const makeSpawn = Effect.gen(function* () {
  const { limits } = yield* CoreConfig
  const sessions = yield* SessionLifecycles
  const store = yield* DelegationStore
  const startOf = yield* childStart
  const deadlineOf = yield* deadline

  /** The depth of a delegation by this session: 1 unless the session is a child itself. */
  const depthBelow = Effect.fnUntraced(function* (parent: SessionRow) {
    if (parent.lineage.parent_delegation_id === null) return 1
    return ((yield* store.find(parent.lineage.parent_delegation_id))?.depth ?? 0) + 1
  })

  return Effect.fnUntraced(function* (principal: Principal, parent: SessionRow, input: DelegationInput) {
    const actor = actorOf(principal)
    const depth = yield* depthBelow(parent)
    if (depth > limits.delegationDepth) return yield* tooDeep(limits.delegationDepth)
    const live = yield* store.live(parent.id)
    if (live.length >= limits.liveDelegations) return yield* tooMany(limits.liveDelegations)
    if ((yield* store.countTree(parent)) >= limits.treeDelegations) return yield* treeFull(limits.treeDelegations)
    const id = yield* newId(DelegationId)
    const start = yield* startOf(principal, parent, input)
    const child = yield* sessions.spawn(parent, actor, {
      ...start,
      delegationId: id,
      title: input.role,
      harness: input.harness
    })
    const delegation = yield* store.insert(
      {
        id,
        workspace_id: parent.workspace_id,
        session_id: parent.id,
        child_session_id: child.id,
        depth,
        turnId: principal.via.kind === "turn" ? principal.via.turnId : null,
        changeset_id: input.changeset_id ?? null,
        brief: {
          role: input.role,
          instructions: input.instructions,
          result_schema: input.result_schema ?? null
        },
        ...(yield* deadlineOf(id, parent, input.deadline_seconds))
      },
      actor
    )
    return { child, delegation }
  })
})

/** The child starts where its parent did, or with the files of a sealed changeset of the same workspace. */
const childStart = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const changesets = yield* Changesets
  return Effect.fnUntraced(function* (
    principal: Principal,
    parent: SessionRow,
    input: DelegationInput
  ): Effect.fn.Return<Pick<ChildSession, "source" | "seed">, Unseen | ReinsError<"stale_subject">> {
    if (input.changeset_id === undefined) return { source: parent, seed: null }
    const changeset = yield* changesets.get(principal, input.changeset_id)
    const source = yield* sessions.readable(principal, changeset.session_id)
    if (source.workspace_id !== parent.workspace_id) return yield* notFound()
    const { base_commit, id, session_id, tree } = changeset
    if (tree === null) return yield* unsealed(changeset.state)
    return {
      source: { ...source, tree: { ...source.tree, base_commit } },
      seed: { changeset_id: id, session_id, base_commit, tree }
    }
  })
})

/** The deadline of a delegation, and the job that keeps it. */
const deadline = Effect.gen(function* () {
  const jobs = yield* JobStore
  const { limits } = yield* CoreConfig
  return Effect.fnUntraced(function* (id: DelegationId, parent: SessionRow, given: number | undefined) {
    const seconds = given ?? limits.delegationSeconds
    const runAt = yield* fromNow(seconds * 1000)
    const { job_id } = yield* jobs.enqueue({
      kind: deadlineJobKind,
      subject: { type: "delegation", id },
      workspaceId: parent.workspace_id,
      payload: { delegation_id: id },
      maxAttempts: 20,
      runAt
    })
    return { deadline_at: runAt, deadlineJobId: job_id }
  })
})

const unsealed = (state: string): ReinsError<"stale_subject"> =>
  new ReinsError({
    code: "stale_subject",
    message: "Only a sealed changeset can be delegated. Wait for the event changeset.ready, or capture a new one.",
    details: { state }
  })

const tooMany = (limit: number): ReinsError<"delegation_limit"> =>
  new ReinsError({
    code: "delegation_limit",
    message: `${limit} delegations of this session are live already. Wait for one to end, or cancel one.`,
    details: { limit }
  })

const treeFull = (limit: number): ReinsError<"delegation_limit"> =>
  new ReinsError({
    code: "delegation_limit",
    message: `The sessions that work for one another have delegated ${limit} times already. Let this session do the work itself.`,
    details: { limit }
  })

const tooDeep = (depth: number): ReinsError<"delegation_limit"> =>
  new ReinsError({
    code: "delegation_limit",
    message: `Delegations are nested at most ${depth} deep. Let this session do the work itself.`,
    details: { depth }
  })
