import type { Acknowledged } from "@reins/testing/process/Ledger"
import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { holdsAtRest } from "./AtRest.js"
import { History } from "./History.js"
import { holdsOutside } from "./Outside.js"

/**
 * Looks whether everything is so that must be so once an installation is at rest, whatever was killed before. Each look is at what is
 * new since the one before; a new audit looks at everything.
 */
export class Audit {
  private readonly history: History
  private entries = 0

  constructor(private readonly installation: Installation) {
    this.history = new History(installation)
  }

  async holds(): Promise<void> {
    const { installation } = this
    const entries = installation.ledger.entries.slice(this.entries)
    assert.deepStrictEqual(
      await installation.ledger.replay(installation.url, entries),
      [],
      "answered in another way than before"
    )
    this.entries += entries.length
    await installation.settled()
    assert.deepStrictEqual(await lostOrDoubled(installation, entries), [], "acknowledged and not there exactly once")
    await holdsTurns(installation)
    await holdsJobs(installation)
    await this.history.holds()
    await holdsOutside(installation)
    await holdsAtRest(installation)
  }
}

const Row = Schema.Struct({ id: Schema.String, mark: Schema.String })

/** Where the writes of a path end up, and by what of its body a write is known there; every client writes other marks. */
const places: ReadonlyArray<{ readonly path: RegExp; readonly field: string; readonly rows: string }> = [
  {
    path: /\/workspaces\/[^/]+\/sessions$/,
    field: "title",
    rows: "select id, title as mark from sessions where title is not null"
  },
  {
    path: /\/sessions\/[^/]+\/messages$/,
    field: "content",
    rows: "select id, content as mark from messages where role = 'user'"
  },
  {
    path: /\/sessions\/[^/]+\/changesets$/,
    field: "label",
    rows: "select id, label as mark from changesets where label is not null"
  },
  { path: /\/workspaces\/[^/]+\/projects$/, field: "slug", rows: "select id, slug as mark from projects" },
  {
    path: /\/projects\/[^/]+\/versions$/,
    field: "notes",
    rows: "select id, notes as mark from project_versions where notes is not null"
  },
  { path: /\/workspaces\/[^/]+\/connections$/, field: "label", rows: "select id, label as mark from connections" },
  { path: /\/api-keys$/, field: "name", rows: "select id, name as mark from api_keys" },
  { path: /\/sessions\/[^/]+\/delegations$/, field: "role", rows: "select id, brief as mark from delegations" },
  {
    path: /\/changesets\/[^/]+\/applications$/,
    field: "target_session_id",
    rows: "select id, target_session_id as mark from applications"
  },
  {
    path: /\/changesets\/[^/]+\/deliveries$/,
    field: "title",
    rows: "select id, title as mark from deliveries where title is not null"
  },
  {
    path: /\/deliveries\/[^/]+\/merge-requests$/,
    field: "title",
    rows: "select id, title as mark from merge_requests"
  },
  { path: /\/auth\/register$/, field: "email", rows: "select id, email as mark from accounts" }
]

const Body = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

type Entries = ReadonlyArray<Acknowledged>

const lostOrDoubled = async (installation: Installation, entries: Entries): Promise<ReadonlyArray<string>> => {
  const wrong: Array<string> = []
  for (const { field, path, rows } of places) {
    const writes = entries.filter((entry) => entry.method === "POST" && path.test(entry.path))
    const stored = writes.length === 0 ? [] : await installation.records.all(Row, rows)
    for (const { answer, body, path } of writes) {
      const value = Schema.decodeUnknownSync(Body)(body)[field]
      if (typeof value !== "string") throw new Error(`A write to ${path} has no mark in its ${field}`)
      const mark = JSON.stringify(value).slice(1, -1)
      const found = stored.filter((row) => row.mark === value || row.mark.includes(`"${mark}"`))
      // Registering tells nobody what it came to.
      const named = path.endsWith("/register") || answer.includes(`"${found[0]?.id}"`)
      if (found.length !== 1 || !named) wrong.push(`${path} ${field}=${value}: ${found.length} times`)
    }
  }
  return [...wrong, ...(await doubledTurns(installation)), ...(await lostFiles(installation, entries))]
}

const doubledTurns = async (installation: Installation): Promise<ReadonlyArray<string>> => {
  const rows = await installation.records.all(
    Schema.Struct({ message_id: Schema.String }),
    "select message_id from turns where retry_of_turn_id is null group by message_id having count(*) > 1"
  )
  return rows.map((row) => `the message ${row.message_id} has more than one turn`)
}

const Upload = Schema.parseJson(Schema.Struct({ path: Schema.String, content: Schema.String }))

/** The last upload at a path is there, where the workspace is. */
const lostFiles = async (installation: Installation, entries: Entries): Promise<ReadonlyArray<string>> => {
  const last = new Map<string, { readonly sessionId: string; readonly path: string; readonly content: string }>()
  for (const { body, path: route } of entries) {
    const [, sessionId] = /\/sessions\/([^/]+)\/file-uploads$/.exec(route) ?? []
    if (sessionId === undefined) continue
    const upload = Schema.decodeUnknownSync(Upload)(body)
    last.set(`${sessionId} ${upload.path}`, { sessionId, ...upload })
  }
  const wrong: Array<string> = []
  for (const { content, path, sessionId } of last.values()) {
    const session = await installation.api.sessions.get({ session_id: sessionId })
    if (session.lifecycle === "closed") continue
    const file = await installation.api.sessions.getFile({ session_id: sessionId, path })
    if (file.content !== content) wrong.push(`${sessionId} ${path} holds something else than was uploaded last`)
  }
  return wrong
}

const Turn = Schema.Struct({
  id: Schema.String,
  session_id: Schema.String,
  state: Schema.String,
  reason: Schema.NullOr(Schema.String),
  reason_message: Schema.NullOr(Schema.String),
  held_up: Schema.Number
})

/** The ends that a turn of this suite may have, by state and reason. */
const ends: ReadonlySet<string> = new Set([
  "succeeded null",
  "cancelled user_cancelled",
  "interrupted service_restart",
  "interrupted outcome_unknown"
])

const holdsTurns = async (installation: Installation): Promise<void> => {
  const turns = await installation.records.all(
    Turn,
    `select id, session_id, state, reason, reason_message, (select cast(count(*) as integer) from turns before where before.session_id = turns.session_id
      and before.ordinal < turns.ordinal and before.state = 'interrupted' and before.acknowledged_at is null) as held_up
    from turns`
  )
  const open = turns.filter((turn) => {
    const end = `${turn.state} ${turn.reason}`
    return !ends.has(end) && !(turn.state === "queued" && turn.held_up > 0)
  })
  assert.deepStrictEqual(open, [], "turns that have not ended, or for no good reason")
}

const Attempt = Schema.Struct({
  job_id: Schema.String,
  kind: Schema.String,
  job_state: Schema.String,
  job_error: Schema.NullOr(Schema.String),
  attempt_count: Schema.Number,
  ordinal: Schema.Number,
  state: Schema.String,
  boot_id: Schema.String,
  error: Schema.NullOr(Schema.String)
})

const codeOf = (error: string | null): string =>
  error === null ? "" : Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ code: Schema.String })))(error).code

/** Every attempt but the last says why it was not the last, and the last says what the job came to. */
const holdsJobs = async (installation: Installation): Promise<void> => {
  const attempts = await installation.records.all(
    Attempt,
    `select job_id, jobs.kind, jobs.state as job_state, jobs.error as job_error, attempt_count, ordinal, attempts.state,
      attempts.boot_id, attempts.error from attempts join jobs on jobs.id = job_id order by job_id, ordinal`
  )
  const wrong = attempts.filter((attempt, index) => {
    const next = attempts[index + 1]
    const isLast = next?.job_id !== attempt.job_id
    if (attempt.state === "abandoned" && codeOf(attempt.error) !== "worker_lost") return true
    if (!isLast) {
      if (next.ordinal !== attempt.ordinal + 1) return true
      if (attempt.state === "abandoned") return next.boot_id === attempt.boot_id
      return !["failed", "unknown"].includes(attempt.state) || attempt.error === null
    }
    if (attempt.ordinal !== attempt.attempt_count) return true
    if (attempt.job_state === "succeeded") return attempt.state !== "succeeded" || attempt.error !== null
    if (attempt.job_state === "failed")
      return !["failed", "abandoned", "unknown"].includes(attempt.state) || attempt.error !== attempt.job_error
    return attempt.job_state !== "cancelled" || attempt.state === "running"
  })
  assert.deepStrictEqual(wrong, [], "attempts that do not explain what happened")
}
