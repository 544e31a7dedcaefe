import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import type { InteractionId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { toMillis } from "@reins/base/domain/Timestamp"
import { Clock, Context, Effect, Layer } from "effect"
import { systemActor } from "../../access/Access.js"
import { Bell, interactionTopic } from "../../store/Bell.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import { lookUntil } from "../../store/LookUntil.js"
import type { Interaction, InteractionState } from "../rows/Interaction.js"
import { SessionListeners } from "../rows/SessionListeners.js"
import { SessionStore } from "../rows/SessionStore.js"
import { turnStates, unprovenTurnState } from "../rows/Turn.js"
import { type InteractionRow, interactionRows, toInteraction } from "./InteractionRows.js"
import { makeOpen, type Question } from "./OpenInteraction.js"
import { type GivenAnswer, makeResolve, nothing, type Resolution, type RevisedQuestion } from "./ResolveInteraction.js"

/** The newest interactions of a session, all of them or those in one state. */
export type InteractionFilter = PageRequest & { readonly state?: InteractionState }

/**
 * The rows of interactions, their states, and the events that tell of them. A turn is in `requires_action` while one of its interactions is
 * pending. A turn that is cancelled or ends cancels its pending interactions. Calls of tools of an interrupted turn
 * stay, as `ToolCallStore` says.
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
    /** Tells people what an open interaction asks for by now. One that has ended stays as it is. Locks the session first. */
    readonly revise: (
      interactionId: InteractionId,
      to: RevisedQuestion,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
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
      const { resolve, revise, tell } = yield* makeResolve
      const open = yield* makeOpen(tell)
      const settled = yield* makeWait(resolve)

      const withdraw = Effect.fnUntraced(function* (turnId: TurnId, actor: Actor, which: "all" | "unkept" = "all") {
        for (const interaction of yield* rows.pendingOf(turnId, which))
          yield* resolve(interaction, "cancelled", nothing, actor)
      })
      /** Does something with an interaction that is open still. */
      const whileOpen = Effect.fnUntraced(function* <A>(
        id: InteractionId,
        act: (interaction: Interaction) => Effect.Effect<A, never, Commit>
      ) {
        const unheld = yield* rows.existing(id)
        yield* sessions.lock(unheld.session_id)
        const interaction = yield* rows.existing(id)
        if (interaction.state === "pending") yield* act(interaction)
      })

      yield* listeners.register({
        turnMoved: (turn, actor) => {
          if (turn.state !== "cancelling" && !turnStates.isTerminal(turn.state)) return Effect.void
          return withdraw(turn.id, actor, turn.state === unprovenTurnState ? "unkept" : "all")
        }
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
        revise: (id, to, actor) => whileOpen(id, (interaction) => revise(interaction, to, actor)),
        takeBack: (id, actor) => whileOpen(id, (interaction) => resolve(interaction, "cancelled", nothing, actor)),
        withdraw,
        settled
      })
    })
  )
}

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

  const settled: InteractionStore["Type"]["settled"] = (id, commit) => {
    let leftMs = 0
    return lookUntil(bell, {
      topics: [interactionTopic(id)],
      waitMs: () => leftMs,
      look: Effect.gen(function* () {
        const interaction = yield* existing(id)
        if (interaction.state !== "pending") return interaction
        leftMs = toMillis(interaction.expires_at) - (yield* Clock.currentTimeMillis)
        if (leftMs > 0) return undefined
        yield* commit(expire(id))
        return yield* existing(id)
      })
    })
  }
  return settled
})

const clock = systemActor("interactions")
