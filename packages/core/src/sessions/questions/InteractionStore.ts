import { Clock, Context, Effect, Layer } from "effect"
import { systemActor } from "../../access/Access.js"
import { CoreConfig } from "../../base/CoreConfig.js"
import { fn } from "../../base/Traced.js"
import type { Actor } from "../../domain/Event.js"
import { InteractionId, newId, type SessionId, type TurnId } from "../../domain/Ids.js"
import type { Page, PageRequest } from "../../domain/Page.js"
import type { ReinsError } from "../../domain/ReinsError.js"
import { fromMillis, now, toMillis } from "../../domain/Timestamp.js"
import type { Asked } from "../../harness/HarnessEvent.js"
import { Bell, interactionTopic } from "../../store/Bell.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import * as Keyset from "../../store/Keyset.js"
import { type Interaction, type InteractionState, interactionStates } from "../Interaction.js"
import { SessionListeners } from "../SessionListeners.js"
import { SessionStore } from "../SessionStore.js"
import { askingTurnState, isStarted, turnStates } from "../Turn.js"
import { actionEvent } from "../turns/TurnRow.js"
import { TurnStore } from "../turns/TurnStore.js"

/** The newest interactions of a session, all of them or those in one state. */
export type InteractionFilter = PageRequest & { readonly state?: InteractionState }

/** The answer that ends an interaction. */
export type GivenAnswer = Pick<Interaction, "answer" | "note" | "content">

const nothing: GivenAnswer = { answer: null, note: null, content: null }

/** The questions that people are asked. */
export interface Question extends Omit<Asked, "_tag" | "request_id"> {
  /** The resource whose budget is used up, for the kind `budget`. */
  readonly budget_of?: string
}

/** An end of an interaction. */
export type Resolution = Exclude<InteractionState, "pending">

/**
 * The rows of interactions, their states, and the events that tell of them. A turn is in `requires_action` while one of its interactions is
 * pending. A turn that is cancelled or ends cancels its pending interactions.
 */
export class InteractionStore extends Context.Tag("@reins/core/sessions/questions/InteractionStore")<
  InteractionStore,
  {
    /** The interactions of a session, newest first. */
    readonly list: (
      sessionId: SessionId,
      filter: InteractionFilter
    ) => Effect.Effect<Page<Interaction>, ReinsError<"invalid_cursor">>
    /** At most `limit` interactions of a session after the one of an id, oldest first. */
    readonly oldest: (sessionId: SessionId, after: string, limit: number) => Effect.Effect<ReadonlyArray<Interaction>>
    /** The interaction as it stands; undefined when there is none. */
    readonly find: (interactionId: string) => Effect.Effect<Interaction | undefined>
    /** Asks people something about a turn. Locks the session first. Undefined when the turn does not run any more. */
    readonly open: (
      turnId: TurnId,
      actor: Actor,
      asked: Question
    ) => Effect.Effect<Interaction | undefined, never, Commit>
    /**
     * Ends a pending interaction with the option that is taken, and lets the turn run when it was the last one. The commit holds the
     * session. Dies for an interaction that has ended.
     */
    readonly resolve: (
      interaction: Interaction,
      to: Resolution,
      given: GivenAnswer,
      actor: Actor
    ) => Effect.Effect<Interaction, never, Commit>
    /** Cancels an interaction that its agent does not wait for any more. One that has ended stays as it is. Locks the session first. */
    readonly takeBack: (interactionId: InteractionId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Cancels the pending interactions of a turn whose agent does not wait for them any more, so that the turn runs. */
    readonly withdraw: (turnId: TurnId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Waits until an interaction is resolved. When its time is over it expires with its default, in the commit that is given. */
    readonly settled: <E>(
      interactionId: InteractionId,
      commit: <A>(command: Effect.Effect<A, never, Commit>) => Effect.Effect<A, E>
    ) => Effect.Effect<Interaction, E>
  }
>() {
  static readonly layer = Layer.effect(
    InteractionStore,
    Effect.gen(function* () {
      const db = yield* Database
      const listeners = yield* SessionListeners
      const sessions = yield* SessionStore
      const sql = db.sql
      const rows = yield* interactionRows
      const { resolve, tell } = yield* makeResolve
      const open = yield* makeOpen(tell)
      const settled = yield* makeWait(resolve)

      const withdraw = Effect.fnUntraced(function* (turnId: TurnId, actor: Actor) {
        for (const interaction of yield* rows.pendingOf(turnId))
          yield* resolve(interaction, "cancelled", nothing, actor)
      })
      const takeBack = Effect.fnUntraced(function* (id: InteractionId, actor: Actor) {
        const unheld = yield* rows.existing(id)
        yield* sessions.lock(unheld.session_id)
        const interaction = yield* rows.existing(id)
        if (interaction.state === "pending") yield* resolve(interaction, "cancelled", nothing, actor)
      })

      yield* listeners.register({
        turnMoved: (turn, actor) =>
          turn.state === "cancelling" || turnStates.isTerminal(turn.state) ? withdraw(turn.id, actor) : Effect.void
      })

      return InteractionStore.of({
        list: fn("InteractionStore.list")(function* (sessionId, filter) {
          const { before, limit } = yield* Keyset.descending(filter)
          const wanted = sql.and([
            sql`session_id = ${sessionId}`,
            sql`id < ${before}`,
            ...(filter.state === undefined ? [] : [sql`state = ${filter.state}`])
          ])
          const found = yield* db.all(sql<InteractionRow>`select * from interactions where ${wanted}
            order by id desc limit ${limit + 1}`)
          return Keyset.page(found.map(toInteraction), limit, ({ id }) => id)
        }),
        oldest: (sessionId, after, limit) =>
          Effect.map(
            db.all(sql<InteractionRow>`select * from interactions where session_id = ${sessionId} and id > ${after}
              order by id limit ${limit}`),
            (found) => found.map(toInteraction)
          ),
        find: rows.find,
        open,
        resolve,
        takeBack,
        withdraw,
        settled
      })
    })
  )
}

const interactionRows = Effect.map(Database, (db) => {
  const sql = db.sql
  const find = (id: string) =>
    Effect.map(db.first(sql<InteractionRow>`select * from interactions where id = ${id}`), (row) =>
      row === undefined ? undefined : toInteraction(row)
    )
  return {
    find,
    existing: existingOf("interaction", find),
    pendingOf: (turnId: TurnId) =>
      Effect.map(
        db.all(
          sql<InteractionRow>`select * from interactions where turn_id = ${turnId} and state = 'pending' order by id`
        ),
        (pending) => pending.map(toInteraction)
      )
  }
})

/** The end of an interaction, and the word of it to the turn and its readers. */
const makeResolve = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  const turns = yield* TurnStore
  const rows = yield* interactionRows

  /** Tells a question or its end. The turn moves when it begins to wait, and when it has waited for the last answer. */
  const tell = Effect.fnUntraced(function* (interaction: Interaction, actor: Actor) {
    const turn = yield* existingOf("turn", turns.find)(interaction.turn_id)
    const to = (yield* rows.pendingOf(turn.id)).length > 0 ? askingTurnState : "running"
    if (isStarted(turn.state) && turn.state !== to) {
      yield* turns.move(turn.id, to, actor, { interaction })
    } else {
      const subjects = { turn_id: turn.id }
      yield* journal.append(turn.session_id, actor, [{ ...actionEvent(turn, interaction), subjects }])
    }
  })

  const resolve = Effect.fnUntraced(function* (
    interaction: Interaction,
    to: Resolution,
    given: GivenAnswer,
    actor: Actor
  ) {
    yield* Effect.orDie(interactionStates.check(interaction.state, to))
    const resolved: Interaction = { ...interaction, ...given, state: to, resolved_at: yield* now }
    const content = given.content === null ? null : JSON.stringify(given.content)
    yield* db.run(db.sql`update interactions set state = ${to}, answer = ${given.answer}, note = ${given.note},
      content = ${content}, resolved_at = ${resolved.resolved_at} where id = ${interaction.id}`)
    yield* journal.ringAfterCommit(interactionTopic(interaction.id))
    yield* tell(resolved, actor)
    return resolved
  })

  return { resolve, tell }
})

/** `InteractionStore.open`. */
const makeOpen = Effect.fnUntraced(function* (
  tell: (interaction: Interaction, actor: Actor) => Effect.Effect<void, never, Commit>
) {
  const db = yield* Database
  const config = yield* CoreConfig
  const sessions = yield* SessionStore
  const turns = yield* TurnStore

  return fn("InteractionStore.open")(function* (turnId: TurnId, actor: Actor, asked: Question) {
    const unheld = yield* turns.find(turnId)
    if (unheld !== undefined) yield* sessions.lock(unheld.session_id)
    const turn = yield* turns.find(turnId)
    if (turn === undefined || !isStarted(turn.state)) return undefined
    const at = yield* now
    const row: InteractionRow = {
      id: yield* newId(InteractionId),
      session_id: turn.session_id,
      turn_id: turn.id,
      kind: asked.kind,
      title: asked.title,
      description: asked.description,
      tool_id: asked.tool_id,
      budget_of: asked.budget_of ?? null,
      options: JSON.stringify(asked.options),
      form: asked.form === null ? null : JSON.stringify(asked.form),
      url: asked.url,
      default_option: asked.default,
      state: "pending",
      ...nothing,
      content: null,
      expires_at: fromMillis(toMillis(at) + config.interactionExpiryMs),
      created_at: at,
      resolved_at: null
    }
    yield* db.run(db.sql`insert into interactions ${db.sql.insert({ ...row })}`)
    const interaction = toInteraction(row)
    yield* tell(interaction, actor)
    return interaction
  })
})

/** `InteractionStore.settled`. */
const makeWait = Effect.fnUntraced(function* (resolve: InteractionStore["Type"]["resolve"]) {
  const bell = yield* Bell
  const sessions = yield* SessionStore
  const { existing } = yield* interactionRows

  const expire = Effect.fnUntraced(function* (id: InteractionId) {
    const unheld = yield* existing(id)
    yield* sessions.lock(unheld.session_id)
    const interaction = yield* existing(id)
    if (interaction.state === "pending")
      yield* resolve(interaction, "expired", { ...nothing, answer: interaction.default }, clock)
  })

  const settled: InteractionStore["Type"]["settled"] = Effect.fnUntraced(function* (id, commit) {
    const rung = yield* Effect.makeLatch(false)
    const stopListening = bell.listen(interactionTopic(id), () => rung.unsafeOpen())
    return yield* Effect.gen(function* () {
      while (true) {
        // Closed before the look, so that a ring during it is not missed.
        yield* rung.close
        const interaction = yield* existing(id)
        if (interaction.state !== "pending") return interaction
        const left = toMillis(interaction.expires_at) - (yield* Clock.currentTimeMillis)
        if (left <= 0) yield* commit(expire(id))
        else yield* Effect.timeoutOption(rung.await, Math.min(left, pollMs))
      }
    }).pipe(Effect.ensuring(Effect.sync(stopListening)))
  })
  return settled
})

const clock = systemActor("interactions")

/** The longest time that a lost ring can delay an answer, in milliseconds. */
const pollMs = 5000

interface InteractionRow extends Omit<Interaction, "options" | "default" | "form" | "content"> {
  readonly options: string
  readonly form: string | null
  readonly content: string | null
  readonly default_option: string | null
}

const toInteraction = ({ content, default_option, form, options, ...row }: InteractionRow): Interaction => ({
  ...row,
  form: form === null ? null : JSON.parse(form),
  content: content === null ? null : JSON.parse(content),
  options: JSON.parse(options),
  default: default_option
})
