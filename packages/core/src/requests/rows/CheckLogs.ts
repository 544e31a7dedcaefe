import type { MergeRequestId } from "@reins/base/domain/Ids"
import type { CheckIdentity } from "@reins/machine/forge/CheckIdentity"
import type { CheckLog, CheckRun } from "@reins/machine/forge/CheckRun"
import type { Forge, ForgeError } from "@reins/machine/forge/Forge"
import type { ForgeView } from "@reins/machine/forge/ForgeView"
import { Clock, Effect } from "effect"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { secretMask } from "../../sessions/SecretMask.js"
import { Database } from "../../store/Database.js"
import type { MergeRequest } from "./MergeRequest.js"
import type { RequestCheck, RequestCheckLog } from "./RequestParts.js"

/** A check with the run that a forge knows it by. */
export interface SeenCheck extends RequestCheck, CheckRun {
  readonly url: string | null
  /** Null for one that was read before checks of one name were told apart. Another one may be hidden by it. */
  readonly identity: CheckIdentity | null
}

/** A check as decisions compare it. */
export type JudgedCheck = RequestCheck & Pick<SeenCheck, "identity">

/** A log that was read, and the run that it is of. */
export interface ReadLog extends CheckRun {
  /** Undefined where the forge shows none. */
  readonly log: CheckLog | undefined
}

interface LogRow {
  readonly key: string
  readonly run: string
  readonly log: string
}

/** So many logs does one look read. It begins none after so many milliseconds, because it has to end in a minute. */
const mostLogs = 10
const mostMs = 15_000

/** A merge request keeps the logs of so many runs. */
const mostKept = 40

const noLog: CheckLog = { text: "", truncated: false, remarks: [] }

/** Reads and writes the rows of logs. */
export const checkLogs = Effect.map(Database, ({ all, first, run, sql }) => ({
  /** The logs of the runs of a head, by the keys of their checks. */
  of: (id: MergeRequestId, headSha: string) =>
    Effect.map(
      all(sql<LogRow>`select key, run, log from request_logs where merge_request_id = ${id} and head_sha = ${headSha}`),
      (rows) => new Map(rows.map(({ key, log, run }) => [key, { run, log: logIn(log) }]))
    ),
  /** The log of the newest run of a check; undefined until it was read. */
  find: (checkId: string) =>
    Effect.map(
      first(sql<LogRow>`select request_logs.key, request_logs.run, log from request_checks
        join request_logs on request_logs.merge_request_id = request_checks.merge_request_id
          and request_logs.head_sha = request_checks.head_sha and request_logs.key = request_checks.key
          and request_logs.run = request_checks.run
        where request_checks.id = ${checkId}`),
      (row): RequestCheckLog | undefined => {
        if (row === undefined) return undefined
        const { remarks, unshown = null, ...log } = logIn(row.log)
        return { ...log, unshown, annotations: remarks }
      }
    ),
  /** Keeps logs of a head. Those of the oldest heads give way. */
  keep: Effect.fnUntraced(function* (id: MergeRequestId, headSha: string, logs: ReadonlyArray<ReadLog>, at: string) {
    for (const { key, log, run: ofRun } of logs) {
      const row = { run: ofRun, log: JSON.stringify(log ?? noLog), read_at: at }
      yield* run(sql`insert into request_logs ${sql.insert({ merge_request_id: id, head_sha: headSha, key, ...row })}
        on conflict (merge_request_id, head_sha, key) do update set ${sql.update(row)}`)
    }
    if (logs.length > 0)
      yield* run(sql`delete from request_logs where merge_request_id = ${id} and head_sha <> ${headSha}
        and read_at < (select min(read_at) from (select read_at from request_logs
          where merge_request_id = ${id} order by read_at desc limit ${mostKept}) as newest)`)
  })
}))

const logIn = (json: string): CheckLog => JSON.parse(json)

/**
 * Gives the function that reads the logs of the failed checks of a head which are not kept yet. The secrets that are known here are struck out before
 * anybody sees them. A log that cannot be read now is read at a later look.
 */
export const makeReadLogs = Effect.gen(function* () {
  const { all, sql } = yield* Database
  const sessions = yield* SessionStore
  const maskOf = yield* secretMask
  const { of } = yield* checkLogs

  const failed = Effect.fnUntraced(function* ({ id }: MergeRequest, head: string, { checks }: ForgeView) {
    if (checks.state === "read") return checks.value.filter(({ state }) => state === "failing")
    return yield* all(sql<CheckRun>`select key, run, url from request_checks
      where merge_request_id = ${id} and head_sha = ${head} and state = 'failing' order by id`)
  })

  return Effect.fnUntraced(function* (
    request: MergeRequest,
    head: string,
    view: ForgeView,
    forge: Forge
  ): Effect.fn.Return<ReadonlyArray<ReadLog>, ForgeError> {
    const red = yield* failed(request, head, view)
    if (red.length === 0) return []
    const kept = yield* of(request.id, head)
    const missing = red.filter(({ key, run }) => kept.get(key)?.run !== run).slice(0, mostLogs)
    const session = missing.length === 0 ? undefined : yield* sessions.find(request.session_id)
    if (session === undefined) return []
    const mask = yield* maskOf(session)
    const read: Array<ReadLog> = []
    const begun = yield* Clock.currentTimeMillis
    for (const { key, run, url } of missing) {
      if ((yield* Clock.currentTimeMillis) - begun > mostMs) break
      const log = yield* forge.log({ key, run, url }).pipe(
        Effect.map((found) => ({ found })),
        Effect.catchIf(
          ({ kind }) => kind !== "rate_limited" && kind !== "unauthenticated",
          () => Effect.succeed(undefined)
        )
      )
      if (log !== undefined) read.push({ key, run, url, log: log.found && (yield* mask(log.found)) })
    }
    return read
  })
})
