import { fn } from "@reins/base/base/Traced"
import type { NewEvent } from "@reins/base/domain/Event"
import type { AccountId, ApiKeyId, AttentionId, MergeRequestId, SessionId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { systemActor } from "../access/Access.js"
import type { BudgetInput } from "../budgets/Budget.js"
import { nano } from "../budgets/BudgetRow.js"
import { type CareInput, ciFiles } from "../projects/CarePolicy.js"
import type { CareState } from "../requests/rows/CareState.js"
import type { MergeRequest } from "../requests/rows/MergeRequest.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import {
  type Attention,
  type AttentionState,
  attentionStates,
  type Care,
  type CareEnd,
  type CarePolicy,
  type CareReason,
  careStates
} from "./Care.js"
import { reasonMessages } from "./Reasons.js"
import { type ShownAttention, toAttention } from "./ShownAttention.js"

/** The author of what care does by itself. */
export const careActor = systemActor("care")

/** A care as it is stored. */
export interface CareRow {
  readonly merge_request_id: MergeRequestId
  /** JSON of the policy. */
  readonly policy: string
  readonly state: CareState
  readonly reason: CareReason | CareEnd | null
  readonly acts_for: AccountId
  /** The API key that put it; null without one. */
  readonly api_key_id: ApiKeyId | null
  readonly generation: number
  readonly turns: number
  readonly spent_tokens: number
  readonly spent_nano_usd: number | null
  readonly attention_id: AttentionId | null
  readonly version: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
}

/** An attention as it is stored. */
export interface AttentionRow extends Omit<Attention, "causes" | "proposes" | "commit" | "reply_url"> {
  readonly session_id: SessionId
  readonly generation: number
  readonly fingerprint: string | null
  /** JSON of the causes. */
  readonly causes: string
  readonly proposes: number
  /** The files of the session before the turn. */
  readonly tree_before: string | null
  /** The tree of the head that the base branch was merged into; null without a conflict. */
  readonly head_tree: string | null
  readonly commit_sha: string | null
  /** 1 for the work of a turn that care did not begin. */
  readonly follows: number | null
}

/** A comment that is to be written once. */
export interface CarePost {
  /** The id of its attention, or one of the care at a time. */
  readonly id: string
  readonly merge_request_id: MergeRequestId
  readonly attention_id: AttentionId | null
  /** Nobody knows it before it is written. */
  readonly mark: string
  readonly text: string
  readonly forge_id: string | null
  readonly url: string | null
  readonly created_at: Timestamp
}

export type CareEventType =
  | "merge_request.care_began"
  | "merge_request.care_proposed"
  | "merge_request.care_delivered"
  | "merge_request.care_handed_over"
  | "merge_request.care_ended"

/** A policy of an earlier release says nothing of `deliver`. */
export const policyOf = ({ policy }: Pick<CareRow, "policy">): CarePolicy => ({
  deliver: "own_turns",
  ...JSON.parse(policy)
})

/** A policy with its defaults. */
export const policyIn = (input: CareInput): CarePolicy => ({
  checks: input.checks ?? "off",
  reviews: input.reviews ?? "off",
  conflicts: input.conflicts ?? "off",
  max_turns: input.max_turns ?? 5,
  budget: input.budget ?? null,
  rerun_first: input.rerun_first ?? true,
  bots: input.bots ?? [],
  reply: input.reply ?? "summary",
  deliver: input.deliver ?? "own_turns",
  protected_paths: input.protected_paths ?? ciFiles
})

export const toCare = (row: CareRow): Care => {
  const { api_key_id: _key, generation: _generation, policy, spent_nano_usd: _nano, ...rest } = row
  return { ...rest, ...policyOf(row), reason_message: row.reason === null ? null : reasonMessages[row.reason] }
}

/** The rest of the budget of a care; null without one, and undefined when it is used up. */
export const leftOf = (row: CareRow): BudgetInput | null | undefined => {
  const { budget } = policyOf(row)
  if (budget === null) return null
  const { max_cost_usd, max_tokens } = budget
  const tokens = max_tokens === undefined ? undefined : max_tokens - row.spent_tokens
  const nanos = max_cost_usd === undefined ? undefined : Math.round(max_cost_usd * nano) - (row.spent_nano_usd ?? 0)
  if ((tokens !== undefined && tokens <= 0) || (nanos !== undefined && nanos < nano / 1_000_000)) return undefined
  return {
    ...(tokens !== undefined && { max_tokens: tokens }),
    ...(nanos !== undefined && { max_cost_usd: nanos / nano })
  }
}

/** The rows of cares, of what they turn to, and of what they write. */
export class CareStore extends Context.Tag("@reins/core/care/CareStore")<
  CareStore,
  {
    readonly find: (id: string) => Effect.Effect<CareRow | undefined>
    /** `find`. Other commits cannot change it until this one ends. The commit holds the session. */
    readonly lock: (id: string) => Effect.Effect<CareRow | undefined, never, Commit>
    /** Makes the care of a merge request, or begins it anew: its counts are 0, and what no turn has mended counts again. */
    readonly begin: (
      request: MergeRequest,
      terms: Pick<CareRow, "acts_for" | "api_key_id"> & { readonly policy: CarePolicy }
    ) => Effect.Effect<CareRow, never, Commit>
    /** Changes columns. Dies for a move that `careStates` does not draw. */
    readonly change: (row: CareRow, changes: Partial<CareRow>) => Effect.Effect<CareRow, never, Commit>
    /** Tells the workspace of a care. */
    readonly tell: (
      request: MergeRequest,
      row: CareRow,
      type: CareEventType,
      attention?: AttentionRow
    ) => Effect.Effect<void, never, Commit>
    /** The open merge requests of a session whose care watches. */
    readonly watchedOf: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<MergeRequestId>>
    readonly attention: (id: string) => Effect.Effect<AttentionRow | undefined>
    readonly attentionOfTurn: (turnId: string) => Effect.Effect<AttentionRow | undefined>
    /** Those of several merge requests of one branch have one delivery. */
    readonly attentionsOfDelivery: (deliveryId: string) => Effect.Effect<ReadonlyArray<AttentionRow>>
    /** Newest first. */
    readonly attentions: (
      id: MergeRequestId,
      page: PageRequest
    ) => Effect.Effect<Page<Attention>, ReinsError<"invalid_cursor">>
    /** Adds an attention with its causes. */
    readonly attend: (row: AttentionRow, causes: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    /** Moves an attention. Dies for a move that `attentionStates` does not draw. */
    readonly move: (
      row: AttentionRow,
      state: AttentionState,
      changes?: Partial<AttentionRow>
    ) => Effect.Effect<AttentionRow, never, Commit>
    /** Changes columns of an attention that stays as it is. */
    readonly amend: (row: AttentionRow, changes: Partial<AttentionRow>) => Effect.Effect<void, never, Commit>
    /** Forgets the causes of an attention, so that they count again. */
    readonly forget: (id: AttentionId) => Effect.Effect<void, never, Commit>
    /** Lets causes count no more, without a turn. */
    readonly settle: (id: MergeRequestId, causes: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    readonly noteReruns: (id: MergeRequestId, keys: ReadonlyArray<string>) => Effect.Effect<void, never, Commit>
    /** Adds a comment to write, once for its id. */
    readonly post: (post: Omit<CarePost, "created_at" | "forge_id" | "url">) => Effect.Effect<boolean, never, Commit>
    readonly findPost: (id: string) => Effect.Effect<CarePost | undefined>
    readonly posted: (
      id: string,
      comment: { readonly forgeId: string; readonly url: string | null }
    ) => Effect.Effect<void, never, Commit>
    /** The ids on the forge of what was written, and the marks of what may have been. */
    readonly postsOf: (id: MergeRequestId) => Effect.Effect<ReadonlyArray<Pick<CarePost, "forge_id" | "mark">>>
  }
>() {
  static readonly layer = Layer.effect(
    CareStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const { all, first, run, sql } = db
      const careOf = (id: string) =>
        Effect.map(
          first(sql<CareRow>`select * from cares where merge_request_id = ${id}`),
          (row) => row && numbered(row)
        )
      const attentions = yield* attentionRows
      const posts = yield* postRows

      return CareStore.of({
        find: careOf,
        lock: (id) =>
          Effect.map(
            first(sql<CareRow>`select * from cares where merge_request_id = ${id}${db.forUpdate}`),
            (row) => row && numbered(row)
          ),
        begin: fn("CareStore.begin")(function* ({ id }, { policy, ...terms }) {
          const at = yield* now
          const fresh = {
            ...terms,
            policy: JSON.stringify(policy),
            state: "watching" as const,
            reason: null,
            turns: 0,
            spent_tokens: 0,
            spent_nano_usd: null,
            attention_id: null,
            updated_at: at
          }
          const known = yield* careOf(id)
          if (known === undefined) {
            const row = { merge_request_id: id, ...fresh, generation: 1, version: 1, created_at: at }
            yield* run(sql`insert into cares ${sql.insert(row)}`)
          } else {
            yield* run(sql`update cares set ${sql.update(fresh)}, generation = generation + 1, version = version + 1
              where merge_request_id = ${id}`)
            yield* run(sql`delete from attention_causes where merge_request_id = ${id} and attention_id in
              (select id from attentions where merge_request_id = ${id} and state in ('failed', 'superseded'))`)
            yield* run(sql`delete from care_reruns where merge_request_id = ${id}`)
          }
          return yield* Effect.flatMap(careOf(id), must)
        }),
        change: Effect.fnUntraced(function* (row, changes) {
          if (changes.state !== undefined && changes.state !== row.state)
            yield* Effect.orDie(careStates.check(row.state, changes.state))
          yield* run(sql`update cares set ${sql.update({ ...changes, updated_at: yield* now })}, version = version + 1
            where merge_request_id = ${row.merge_request_id}`)
          return yield* Effect.flatMap(careOf(row.merge_request_id), must)
        }),
        tell: (request, row, type, attention) =>
          Effect.asVoid(journal.append(request.session_id, careActor, [eventOf(request, row, type, attention)])),
        watchedOf: (sessionId) =>
          Effect.map(
            all(sql<{ id: MergeRequestId }>`select merge_requests.id from merge_requests
              join cares on cares.merge_request_id = merge_requests.id
              where session_id = ${sessionId} and merge_requests.state = 'open' and cares.state = 'watching'
              order by merge_requests.id`),
            (rows) => rows.map(({ id }) => id)
          ),
        ...attentions,
        ...posts
      })
    })
  )
}

const must = <A>(found: A | undefined) =>
  found === undefined ? Effect.dieMessage("a row of care is gone") : Effect.succeed(found)

/** The rows of attentions and their causes. */
const attentionRows = Effect.map(Database, ({ all, first, run, sql }) => {
  const attentionOf = (id: string) => first(sql<AttentionRow>`select * from attentions where id = ${id}`)
  return {
    attention: attentionOf,
    attentionOfTurn: (turnId) => first(sql<AttentionRow>`select * from attentions where turn_id = ${turnId}`),
    attentionsOfDelivery: (deliveryId) =>
      all(sql<AttentionRow>`select * from attentions where delivery_id = ${deliveryId} order by id desc`),
    attentions: fn("CareStore.attentions")(function* (id, page) {
      const { before, limit } = yield* Keyset.descending(page)
      const rows =
        yield* all(sql<ShownAttention>`select attentions.*, made.id as followed_id, made.message_id as followed_message,
            (select url from care_posts where care_posts.id = attentions.id) as reply_url from attentions
            left join changesets on follows = 1 and changesets.id = attentions.changeset_id
            left join turns made on made.id = changesets.source_turn_id
            where merge_request_id = ${id} and attentions.id < ${before} order by attentions.id desc limit ${limit + 1}`)
      return Keyset.page(rows.map(toAttention), limit, (attention) => attention.id)
    }),
    attend: Effect.fnUntraced(function* (row, causes) {
      yield* run(sql`insert into attentions ${sql.insert({ ...row })}`)
      for (const key of causes)
        yield* run(
          sql`insert into attention_causes ${sql.insert({
            merge_request_id: row.merge_request_id,
            key,
            attention_id: row.id
          })}`
        )
    }),
    move: Effect.fnUntraced(function* (row, state, changes = {}) {
      yield* Effect.orDie(attentionStates.check(row.state, state))
      yield* run(
        sql`update attentions set ${sql.update({ ...changes, state, updated_at: yield* now })} where id = ${row.id}`
      )
      return yield* Effect.flatMap(attentionOf(row.id), must)
    }),
    amend: Effect.fnUntraced(function* ({ id }, changes) {
      yield* run(sql`update attentions set ${sql.update({ ...changes, updated_at: yield* now })} where id = ${id}`)
    }),
    forget: (id) => run(sql`delete from attention_causes where attention_id = ${id}`)
  } satisfies Partial<CareStore["Type"]>
})

/** The rows of what a care has done and written. */
const postRows = Effect.map(
  Database,
  ({ all, first, run, sql }) =>
    ({
      settle: (id, causes) =>
        Effect.forEach(
          causes,
          (key) =>
            run(
              sql`insert into attention_causes ${sql.insert({ merge_request_id: id, key, attention_id: "" })} on conflict do nothing`
            ),
          { discard: true }
        ),
      noteReruns: (id, keys) =>
        Effect.forEach(
          keys,
          (key) =>
            run(sql`insert into care_reruns ${sql.insert({ merge_request_id: id, key })} on conflict do nothing`),
          { discard: true }
        ),
      post: Effect.fnUntraced(function* (post) {
        const made = yield* first(
          sql<{ id: string }>`insert into care_posts ${sql.insert({
            ...post,
            created_at: yield* now
          })} on conflict do nothing returning id`
        )
        return made !== undefined
      }),
      findPost: (id) => first(sql<CarePost>`select * from care_posts where id = ${id}`),
      posted: (id, { forgeId, url }) =>
        run(sql`update care_posts set forge_id = ${forgeId}, url = ${url} where id = ${id}`),
      postsOf: (id) =>
        all(
          sql<Pick<CarePost, "forge_id" | "mark">>`select forge_id, mark from care_posts where merge_request_id = ${id}`
        )
    }) satisfies Partial<CareStore["Type"]>
)

/** PostgreSQL gives large integers as texts. */
const numbered = (row: CareRow): CareRow => ({
  ...row,
  spent_tokens: Number(row.spent_tokens),
  spent_nano_usd: row.spent_nano_usd === null ? null : Number(row.spent_nano_usd)
})

const eventOf = (request: MergeRequest, row: CareRow, type: CareEventType, attention?: AttentionRow): NewEvent => ({
  type,
  payload: {
    merge_request_id: request.id,
    attention_id: attention?.id ?? null,
    state: row.state,
    reason: row.reason,
    reason_message: row.reason === null ? null : reasonMessages[row.reason],
    turns: row.turns,
    max_turns: policyOf(row).max_turns,
    head_sha: request.head_sha,
    commit: attention?.commit_sha ?? null
  },
  subjects: {
    delivery_id: attention?.delivery_id ?? request.delivery_id,
    changeset_id: attention?.changeset_id ?? request.changeset_id,
    ...(attention?.turn_id != null && { turn_id: attention.turn_id })
  }
})
