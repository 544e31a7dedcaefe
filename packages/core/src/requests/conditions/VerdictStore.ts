import { cutText } from "@reins/base/base/CutText"
import { fn } from "@reins/base/base/Traced"
import { type ChangesetId, newId, type SessionId, VerdictId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import { WatchStore } from "../rows/WatchStore.js"
import type { ChangesetVerdict } from "./ChangesetVerdict.js"

/** The rows of verdicts. A verdict is never changed, and the newest one of each judge counts. */
export class VerdictStore extends Context.Tag("@reins/core/requests/conditions/VerdictStore")<
  VerdictStore,
  {
    /** Adds a verdict without a check of access, and has the open merge requests of the session looked at. */
    readonly add: (
      sessionId: SessionId,
      verdict: Omit<ChangesetVerdict, "id" | "created_at">
    ) => Effect.Effect<ChangesetVerdict, never, Commit>
    /** The verdicts on a changeset, newest first. */
    readonly list: (
      changesetId: ChangesetId,
      page: PageRequest
    ) => Effect.Effect<Page<ChangesetVerdict>, ReinsError<"invalid_cursor">>
    /** The verdicts on the changesets of a session that have a digest, the oldest first. */
    readonly ofDigest: (sessionId: SessionId, digest: string) => Effect.Effect<ReadonlyArray<ChangesetVerdict>>
  }
>() {
  static readonly layer = Layer.effect(
    VerdictStore,
    Effect.gen(function* () {
      const { all, run, sql } = yield* Database
      const watches = yield* WatchStore
      return VerdictStore.of({
        add: fn("VerdictStore.add")(function* (sessionId, given) {
          const note = given.note === null ? null : cutText(given.note, longestNote)
          const verdict: ChangesetVerdict = { ...given, note, id: yield* newId(VerdictId), created_at: yield* now }
          const { from, ...columns } = verdict
          yield* run(sql`insert into verdicts ${sql.insert({ ...columns, source: from })}`)
          const open = yield* all(sql<{ id: Parameters<WatchStore["Type"]["ring"]>[0] }>`select id from merge_requests
            where session_id = ${sessionId} and state = 'open' order by id`)
          for (const { id } of open) yield* watches.ring(id, false)
          return verdict
        }),
        list: fn("VerdictStore.list")(function* (changesetId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* all(sql<VerdictRow>`select * from verdicts
            where changeset_id = ${changesetId} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toVerdict), limit, ({ id }) => id)
        }),
        ofDigest: (sessionId, digest) =>
          Effect.map(
            all(sql<VerdictRow>`select verdicts.* from verdicts join changesets on changesets.id = changeset_id
              where changesets.session_id = ${sessionId} and verdicts.subject_digest = ${digest} order by verdicts.id`),
            (rows) => rows.map(toVerdict)
          )
      })
    })
  )
}

/** The longest note in characters. */
const longestNote = 4000

interface VerdictRow extends Omit<ChangesetVerdict, "from"> {
  readonly source: ChangesetVerdict["from"]
}

const toVerdict = ({ source, ...row }: VerdictRow): ChangesetVerdict => ({ ...row, from: source })
