import { Cause, Context, Effect, FiberRef, GlobalValue, Layer, Option, Schedule } from "effect"
import type { Actor, NewEvent } from "../domain/Event.js"
import { EventId, newId, type SessionId, type WorkspaceId } from "../domain/Ids.js"
import { now } from "../domain/Timestamp.js"
import { fn } from "../Traced.js"
import { Bell, sessionTopic } from "./Bell.js"
import { Database } from "./Database.js"
import { failedStatementOf } from "./FailedStatement.js"
import { locally } from "./Locally.js"

/** Records the result of the running command as the answer to its request; it is called inside the transaction of the command. */
export type RecordAnswer = (result: unknown) => Effect.Effect<void>

/** How the outermost commit of the running request records its answer; undefined when no request is being answered. */
export const CurrentAnswer = GlobalValue.globalValue("@reins/core/store/CurrentAnswer", () =>
  FiberRef.unsafeMake<RecordAnswer | undefined>(undefined)
)

/** A session that the open commit keeps other writers from, as it stands now. */
interface HeldSession {
  readonly event_watermark: number
  readonly workspace_id: WorkspaceId
}

interface Commit {
  /** Rung once it is through. */
  readonly topics: Set<string>
  readonly held: Map<SessionId, HeldSession>
}

/** Undefined outside a commit. */
const OpenCommit = GlobalValue.globalValue("@reins/core/store/OpenCommit", () =>
  FiberRef.unsafeMake<Commit | undefined>(undefined)
)

/** The only way that state changes: what a command writes, its events, its jobs and its answer commit together or not at all. */
export class Journal extends Context.Tag("@reins/core/store/Journal")<
  Journal,
  {
    /**
     * Runs a command in one transaction, rings the bell after it, and gives back the result of the command, which is also what the
     * request is answered with. A commit inside a commit is part of the outer one. No process, network or file call belongs inside.
     */
    readonly commit: <A, E>(command: Effect.Effect<A, E>) => Effect.Effect<A, E>
    /** A commit that a request makes besides the one that answers it. */
    readonly commitAside: <A, E>(command: Effect.Effect<A, E>) => Effect.Effect<A, E>
    /** Appends events to a session in the given order and gives back its watermark. Only inside a commit. */
    readonly append: (sessionId: SessionId, actor: Actor, events: ReadonlyArray<NewEvent>) => Effect.Effect<number>
    /** Tells that the open commit keeps other writers from a session, so that appending to it need not read it. Only inside a commit. */
    readonly hold: (session: HeldSession & { readonly id: SessionId }) => Effect.Effect<void>
    /** Rings a topic when the open commit is through. Only inside a commit. */
    readonly ringAfterCommit: (topic: string) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Journal,
    Effect.gen(function* () {
      const db = yield* Database
      const bell = yield* Bell

      const mayLoseRace = db.dialect === "pg"
      const insertEvent = db.prepareRow((row) => db.sql`insert into events ${db.sql.insert(row)}`)
      const insert = (rows: Array<EventRow>) => {
        const [row, ...more] = rows
        if (row === undefined) return Effect.void
        return db.run(more.length === 0 ? insertEvent(row) : db.sql`insert into events ${db.sql.insert(rows)}`)
      }

      const outermost = Effect.fnUntraced(function* <A, E>(
        command: Effect.Effect<A, E>,
        answer: RecordAnswer | undefined
      ) {
        // Anew for each run of the transaction: what an earlier one counted was rolled back with it.
        const attempt = db.transaction(
          Effect.suspend(() => {
            const open: Commit = { topics: new Set(), held: new Map() }
            const answered = answer === undefined ? command : Effect.tap(command, answer)
            return Effect.map(locally(answered, OpenCommit, open), (result) => ({ result, topics: open.topics }))
          })
        )
        const { result, topics } = yield* mayLoseRace ? retryLostRace(attempt) : attempt
        for (const topic of topics) yield* bell.ring(topic)
        return result
      })
      const commit = <A, E>(command: Effect.Effect<A, E>) =>
        Effect.withFiberRuntime<A, E>((fiber) =>
          fiber.getFiberRef(OpenCommit) === undefined ? outermost(command, fiber.getFiberRef(CurrentAnswer)) : command
        )
      const inCommit = <A>(use: (open: Commit) => Effect.Effect<A>) =>
        Effect.withFiberRuntime<A>((fiber) => {
          const open = fiber.getFiberRef(OpenCommit)
          return open === undefined ? Effect.dieMessage("outside a commit") : use(open)
        })
      const ringAfterCommit = (topic: string) =>
        inCommit(({ topics }) => {
          topics.add(topic)
          return Effect.void
        })

      const raiseWatermark = db.prepare(
        (by: number, id: string) => db.sql<HeldSession>`update sessions set event_watermark = event_watermark + ${by}
        where id = ${id} returning event_watermark, workspace_id`
      )
      /** The session after so many more events. Its row is read the first time and held from then on. */
      const raised = ({ held }: Commit, id: SessionId, by: number): Effect.Effect<HeldSession> => {
        const before = held.get(id)
        const keep = (session: HeldSession) => {
          held.set(id, session)
          return session
        }
        if (before === undefined)
          return Effect.flatMap(db.first(raiseWatermark(by, id)), (session) =>
            session === undefined
              ? Effect.dieMessage(`events for ${id}, which does not exist`)
              : Effect.succeed(keep(session))
          )
        const session = keep({ ...before, event_watermark: before.event_watermark + by })
        return by > 0 ? Effect.as(db.run(raiseWatermark(by, id)), session) : Effect.succeed(session)
      }

      return Journal.of({
        commit,
        commitAside: (command) => Effect.locally(commit(command), CurrentAnswer, undefined),
        ringAfterCommit,
        hold: ({ event_watermark, id, workspace_id }) =>
          inCommit(({ held }) => {
            held.set(id, { event_watermark, workspace_id })
            return Effect.void
          }),
        append: fn("Journal.append")((sessionId, actor, events) =>
          inCommit(
            Effect.fnUntraced(function* (open) {
              open.topics.add(sessionTopic(sessionId))
              const session = yield* raised(open, sessionId, events.length)
              if (events.length === 0) return session.event_watermark
              const recordedAt = yield* now
              const rows: Array<EventRow> = []
              for (const event of events) {
                const id = yield* newId(EventId)
                const seq = session.event_watermark - events.length + rows.length + 1
                rows.push({
                  session_id: sessionId,
                  seq,
                  type: event.type,
                  turn_id: event.subjects?.turn_id ?? null,
                  envelope: JSON.stringify({
                    id,
                    seq,
                    type: event.type,
                    schema_version: 1,
                    session_id: sessionId,
                    workspace_id: session.workspace_id,
                    recorded_at: recordedAt,
                    actor,
                    ...event.subjects,
                    payload: event.payload
                  })
                })
              }
              yield* insert(rows)
              return session.event_watermark
            })
          )
        )
      })
    })
  )
}

type EventRow = {
  readonly session_id: SessionId
  readonly seq: number
  readonly type: string
  readonly turn_id: string | null
  readonly envelope: string
}

/** PostgreSQL ends one of two transactions that wait for each other (40P01) or cannot be ordered (40001): it is run again. */
const retryLostRace = <A, E>(attempt: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.retry(Effect.sandbox(attempt), {
    while: lostRace,
    schedule: Schedule.intersect(Schedule.jittered(Schedule.exponential("5 millis")), Schedule.recurs(8))
  }).pipe(Effect.unsandbox)

const lostRace = (cause: Cause.Cause<unknown>): boolean =>
  ["40P01", "40001"].includes(failedStatementOf(Option.getOrUndefined(Cause.dieOption(cause)))?.code ?? "")
