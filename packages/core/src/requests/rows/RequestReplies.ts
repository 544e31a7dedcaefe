import { randomBytes } from "node:crypto"
import type { MergeRequestId } from "@reins/base/domain/Ids"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import type { PostedComment } from "@reins/machine/forge/CheckRun"
import { Effect } from "effect"
import { Database } from "../../store/Database.js"

/** A comment of a person that is written once. */
export interface RequestReply {
  /** Nobody knows it before it is written. */
  readonly mark: string
  readonly merge_request_id: MergeRequestId
  /** The thread to answer in, by its id on the forge; null for the talk. */
  readonly thread: string | null
  readonly text: string
  /** Null until it was written. */
  readonly forge_id: string | null
  readonly url: string | null
  readonly created_at: Timestamp
}

/** The rows of the comments of people. */
export const requestReplies = Effect.map(Database, ({ all, first, run, sql }) => ({
  /** Gives its mark. Nobody can guess it, so nobody can have written it before. */
  add: Effect.fnUntraced(function* (reply: Pick<RequestReply, "merge_request_id" | "thread" | "text">) {
    const mark = randomBytes(16).toString("hex")
    yield* run(sql`insert into request_replies ${sql.insert({ ...reply, mark, created_at: yield* now })}`)
    return mark
  }),
  find: (mark: string) => first(sql<RequestReply>`select * from request_replies where mark = ${mark}`),
  written: (mark: string, { forgeId, url }: PostedComment) =>
    run(sql`update request_replies set forge_id = ${forgeId}, url = ${url} where mark = ${mark}`),
  /** Gives the function that knows one of these by its id. Until that is known its mark counts, which others may copy later. */
  knownOf: (id: MergeRequestId) =>
    Effect.map(
      all(
        sql<Pick<RequestReply, "forge_id" | "mark">>`select forge_id, mark from request_replies
          where merge_request_id = ${id}`
      ),
      (rows) => (forgeId: string, body: string) =>
        rows.some(({ forge_id, mark }) => (forge_id === null ? body.includes(markOf(mark)) : forge_id === forgeId))
    )
}))

/** The words in a comment that tell it from all others. Forges do not show them. */
export const markOf = (mark: string): string => `<!-- reins:${mark} -->`
