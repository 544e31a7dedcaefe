import { makeHearers } from "@reins/base/base/Hearers"
import { fn } from "@reins/base/base/Traced"
import type { Actor, NewEvent } from "@reins/base/domain/Event"
import { EventId, newId, type SessionId } from "@reins/base/domain/Ids"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer, Option } from "effect"
import { Bell, sessionTopic, workspaceTopic } from "./Bell.js"
import { type Commands, commandsOf } from "./Command.js"
import { Commit, type HeldSession, type WrittenEvent } from "./Commit.js"
import { Database } from "./Database.js"
import { type Oversees, Oversight } from "./Oversight.js"
import * as SessionLog from "./SessionLog.js"
import * as WorkspaceLog from "./WorkspaceLog.js"

/**
 * Writes everything that changes. A commit keeps its rows, its events, its jobs and the answer of its request together: all of them stand, or
 * none.
 */
export class Journal extends Context.Tag("@reins/core/store/Journal")<
  Journal,
  Commands & {
    /** The policy and the audit of the commands of this journal. */
    readonly oversight: Oversees
    /**
     * Runs an effect in one transaction, and rings the bell after it. Dies before anything is written when a commit is open already: an
     * effect that belongs to the open one requires `Commit`.
     */
    readonly commit: <A, E, R>(inside: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Commit>>
    /**
     * Appends events to a session in the given order and gives back its watermark. `messages` is the number of new messages that they tell
     * of.
     */
    readonly append: (
      sessionId: SessionId,
      actor: Actor,
      events: ReadonlyArray<NewEvent>,
      messages?: number
    ) => Effect.Effect<number, never, Commit>
    /** Appends the first events of a session, whose row the open commit has inserted with their number as its watermark. */
    readonly begin: (
      session: HeldSession & { readonly id: SessionId },
      actor: Actor,
      events: ReadonlyArray<NewEvent>
    ) => Effect.Effect<void, never, Commit>
    /** The session as it stands in the open commit, which keeps other writers from it. */
    readonly held: (sessionId: SessionId) => Effect.Effect<HeldSession, never, Commit>
    /** Tells that the open commit has locked the row of a session, so that appending to it need not read it. */
    readonly hold: (session: HeldSession & { readonly id: SessionId }) => Effect.Effect<void, never, Commit>
    /** Rings a topic when the open commit is through. */
    readonly ringAfterCommit: (topic: string) => Effect.Effect<void, never, Commit>
    /** Tells a room of events for as long as the journal lives. It hears all those of a commit at once, at its end and as a part of it. */
    readonly hear: (hearer: EventHearer) => Effect.Effect<void>
    /** Does something when the open commit is through, before its caller goes on. Nothing of it is written down. */
    readonly afterCommit: (effect: Effect.Effect<void>) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Journal,
    Effect.gen(function* () {
      const db = yield* Database
      const bell = yield* Bell
      const oversight = yield* Oversight
      const log = yield* SessionLog.make
      const workspaceLog = yield* WorkspaceLog.make
      const hearers = makeHearers<EventHearer>()
      const wanted: Array<EventHearer["wants"]> = []
      const tellHeard = (heard: ReadonlyArray<WrittenEvent>) =>
        hearers.tell(({ heard: hear, wants }) => hear(heard.filter(({ type }) => wants(type))))

      const commit = <A, E, R>(inside: Effect.Effect<A, E, R>) =>
        Effect.withFiberRuntime<A, E, Exclude<R, Commit>>((fiber) => {
          if (Option.isSome(Context.getOption(fiber.currentContext, Commit))) return commitInCommit
          // The commit is opened anew for each run of the transaction: the counts of an earlier run were rolled back with it.
          const attempt = db.transaction(
            Effect.suspend(() => {
              const open: Commit["Type"] = { topics: new Set(), held: new Map(), heard: [], afterwards: [] }
              const whole = Effect.tap(inside, () => (open.heard.length === 0 ? Effect.void : tellHeard(open.heard)))
              return Effect.map(Effect.provideService(whole, Commit, open), (result) => ({ result, open }))
            })
          )
          return Effect.flatMap(attempt, ({ open, result }) => Effect.as(follow(open), result))
        })
      const follow = Effect.fnUntraced(function* ({ afterwards, topics }: Commit["Type"]) {
        for (const topic of topics) yield* bell.ring(topic)
        for (const work of afterwards) yield* work
      })

      const raised = raisedBy(db, log)
      /** Writes the events of a session that counts them already. */
      const write = Effect.fnUntraced(function* (
        sessionId: SessionId,
        session: HeldSession,
        actor: Actor,
        events: ReadonlyArray<NewEvent>
      ) {
        const { heard, topics } = yield* Commit
        topics.add(sessionTopic(sessionId))
        const recordedAt = yield* now
        const rows = yield* rowsOf(sessionId, session, { actor, recordedAt }, events)
        yield* log.insert(rows)
        const { event_watermark, workspace_id } = session
        for (const [index, event] of events.entries())
          if (wanted.some((wants) => wants(event.type))) {
            const seq = event_watermark - events.length + index + 1
            heard.push({ ...event, session_id: sessionId, workspace_id, seq, actor, recorded_at: recordedAt })
          }
        if (yield* workspaceLog.add(session.workspace_id, rows, recordedAt))
          topics.add(workspaceTopic(session.workspace_id))
      })

      return Journal.of({
        oversight,
        commit,
        ...commandsOf(commit, oversight),
        hear: (hearer) =>
          Effect.zipRight(
            hearers.register(hearer),
            Effect.sync(() => void wanted.push(hearer.wants))
          ),
        ringAfterCommit: (topic) => Effect.map(Commit, ({ topics }) => void topics.add(topic)),
        afterCommit: (effect) => Effect.map(Commit, ({ afterwards }) => void afterwards.push(effect)),
        hold,
        begin: (session, actor, events) => Effect.zipRight(hold(session), write(session.id, session, actor, events)),
        held: (sessionId) => raised(sessionId, 0, 0),
        append: fn("Journal.append")(function* (sessionId, actor, events, messages = 0) {
          const session = yield* raised(sessionId, events.length, messages)
          if (events.length > 0) yield* write(sessionId, session, actor, events)
          return session.event_watermark
        })
      })
    })
  )
}

/** A room that has to know of events in the very commit that writes them. It may write, and must not fail. */
export interface EventHearer {
  readonly wants: (type: string) => boolean
  readonly heard: (events: ReadonlyArray<WrittenEvent>) => Effect.Effect<void, never, Commit>
}

const hold: Journal["Type"]["hold"] = ({ event_watermark, id, message_count, workspace_id }) =>
  Effect.map(Commit, ({ held }) => void held.set(id, { event_watermark, message_count, workspace_id }))

const commitInCommit = Effect.dieMessage("a commit inside a commit: what belongs to the outer one requires Commit")

/** The session after so many more events and messages. The open commit reads its row the first time and holds it from then on. */
const raisedBy = (db: Database["Type"], log: SessionLog.SessionLog) =>
  Effect.fnUntraced(function* (id: SessionId, events: number, messages: number) {
    const { held } = yield* Commit
    const before = held.get(id)
    if (before === undefined) {
      const session = yield* db.first(log.raise(events, messages, id))
      if (session === undefined) return yield* Effect.dieMessage(`events for ${id}, which does not exist`)
      held.set(id, session)
      return session
    }
    const session = {
      ...before,
      event_watermark: before.event_watermark + events,
      message_count: before.message_count + messages
    }
    held.set(id, session)
    if (events > 0 || messages > 0) yield* db.run(log.raise(events, messages, id))
    return session
  })

/** The rows of events, the last of which is the newest of the session. */
const rowsOf = Effect.fnUntraced(function* (
  sessionId: SessionId,
  session: HeldSession,
  { actor, recordedAt }: { readonly actor: Actor; readonly recordedAt: Timestamp },
  events: ReadonlyArray<NewEvent>
) {
  const rows: Array<SessionLog.EventRow> = []
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
  return rows
})
