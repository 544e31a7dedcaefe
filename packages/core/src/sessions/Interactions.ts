import { Clock, Context, Effect, Layer, ParseResult, Schema } from "effect"
import { actorOf, systemActor } from "../access/Access.js"
import type { InteractionAnswer } from "../api/InteractionsApi.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import type { Actor } from "../domain/Event.js"
import { InteractionId, newId, type TurnId } from "../domain/Ids.js"
import { type Interaction, type InteractionState, interactionStates } from "../domain/Interaction.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { fromMillis, now, toMillis } from "../domain/Timestamp.js"
import { turnStates } from "../domain/Turn.js"
import type { Asked } from "../harness/HarnessEvent.js"
import { Bell, interactionTopic } from "../store/Bell.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { SessionListeners } from "./SessionListeners.js"
import { SessionStore } from "./SessionStore.js"
import { actionEvent, Turns } from "./Turns.js"

/**
 * What the agents of running turns ask, and the answers. A turn waits in `requires_action` while one of its interactions is pending.
 * What nobody answers in time expires with its default. When the turn is cancelled or ends, what is pending is cancelled with it.
 */
export class Interactions extends Context.Tag("@reins/core/sessions/Interactions")<
  Interactions,
  {
    /** Those of a session, newest first. Empty where the provider does not ask. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      filter: PageRequest & { readonly state?: InteractionState }
    ) => Effect.Effect<Page<Interaction>, ReinsError>
    /**
     * Takes one of the options. The same answer again changes nothing; another one, or one that comes too late, fails with
     * `invalid_transition`.
     */
    readonly answer: (
      principal: Principal,
      interactionId: string,
      input: InteractionAnswer
    ) => Command<Interaction, ReinsError | RequestInvalid>
    /** Asks people what an agent asks. Undefined when its turn does not run any more. */
    readonly open: (turnId: TurnId, actor: Actor, asked: Asked) => Effect.Effect<Interaction | undefined, never, Commit>
    /** Cancels what the agent of a turn does not wait for any more, so that the turn runs. */
    readonly withdraw: (turnId: TurnId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Waits until an interaction is resolved, and has it expire when its time has come, in the commit that is given. */
    readonly settled: <E>(
      interactionId: InteractionId,
      commit: <A>(command: Effect.Effect<A, never, Commit>) => Effect.Effect<A, E>
    ) => Effect.Effect<Interaction, E>
  }
>() {
  static readonly layer = Layer.effect(
    Interactions,
    Effect.gen(function* () {
      const db = yield* Database
      const bell = yield* Bell
      const config = yield* CoreConfig
      const journal = yield* Journal
      const store = yield* SessionStore
      const turns = yield* Turns
      const listeners = yield* SessionListeners
      const sql = db.sql

      const find = (id: string) => db.first(sql<InteractionRow>`select * from interactions where id = ${id}`)

      const pendingOf = (turnId: TurnId) =>
        db.all(
          sql<InteractionRow>`select * from interactions where turn_id = ${turnId} and state = 'pending' order by id`
        )

      /** Tells what was asked or resolved, and moves the turn if it begins or has ended to wait. */
      const tell = Effect.fnUntraced(function* (interaction: Interaction, actor: Actor) {
        const turn = yield* turns.find(interaction.turn_id)
        if (turn === undefined) return yield* Effect.dieMessage(`no turn ${interaction.turn_id}`)
        const waits = (yield* pendingOf(turn.id)).length > 0
        const to = waits ? "requires_action" : "running"
        const isAwake = turn.state === "running" || turn.state === "requires_action"
        if (isAwake && turn.state !== to) {
          yield* turns.move(turn.id, to, actor, { interaction })
        } else {
          const subjects = { turn_id: turn.id }
          yield* journal.append(turn.session_id, actor, [{ ...actionEvent(turn, interaction), subjects }])
        }
      })

      /** Only for a pending one whose session the commit holds. */
      const resolve = Effect.fnUntraced(function* (
        row: InteractionRow,
        state: Exclude<InteractionState, "pending">,
        answer: string | null,
        actor: Actor
      ) {
        const resolved = { ...row, state, answer, resolved_at: yield* now }
        yield* db.run(sql`update interactions set state = ${state}, answer = ${answer},
          resolved_at = ${resolved.resolved_at} where id = ${row.id}`)
        yield* journal.ringAfterCommit(interactionTopic(row.id))
        const interaction = toInteraction(resolved)
        yield* tell(interaction, actor)
        return interaction
      })

      const expire = Effect.fnUntraced(function* (id: InteractionId) {
        const unheld = yield* find(id)
        if (unheld !== undefined) yield* store.lock(unheld.session_id)
        const row = yield* find(id)
        if (row?.state === "pending") yield* resolve(row, "expired", row.default_option, clock)
      })

      const withdraw = Effect.fnUntraced(function* (turnId: TurnId, actor: Actor) {
        for (const row of yield* pendingOf(turnId)) yield* resolve(row, "cancelled", null, actor)
      })

      yield* listeners.register({
        turnMoved: (turn, actor) =>
          turn.state === "cancelling" || turnStates.isTerminal(turn.state) ? withdraw(turn.id, actor) : Effect.void,
        closing: () => Effect.void
      })

      return Interactions.of({
        list: fn("Interactions.list")(function* (principal, sessionId, filter) {
          const session = yield* store.readable(principal, sessionId)
          const { before, limit } = yield* Keyset.descending(filter)
          const wanted = sql.and([
            sql`session_id = ${session.id}`,
            sql`id < ${before}`,
            ...(filter.state === undefined ? [] : [sql`state = ${filter.state}`])
          ])
          const rows = yield* db.all(sql<InteractionRow>`select * from interactions where ${wanted}
            order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toInteraction), limit, ({ id }) => id)
        }),
        answer: (principal, interactionId, { answer }) =>
          journal.command(
            "Interactions.answer",
            Effect.gen(function* () {
              const unheld = yield* find(interactionId)
              if (unheld === undefined) return yield* notFound()
              yield* store.writable(principal, unheld.session_id)
              const row = yield* find(interactionId)
              if (row === undefined) return yield* notFound()
              const interaction = toInteraction(row)
              if (!interaction.options.some(({ id }) => id === answer)) return yield* noOption(interaction, answer)
              if (row.state === "answered" && row.answer === answer) return interaction
              if (!interactionStates.allows(row.state, "answered")) return yield* resolvedAlready(interaction)
              return yield* resolve(row, "answered", answer, actorOf(principal))
            })
          ),
        open: fn("Interactions.open")(function* (turnId, actor, asked) {
          const unheld = yield* turns.find(turnId)
          if (unheld !== undefined) yield* store.lock(unheld.session_id)
          const turn = yield* turns.find(turnId)
          if (turn?.state !== "running" && turn?.state !== "requires_action") return undefined
          const at = yield* now
          const row: InteractionRow = {
            id: yield* newId(InteractionId),
            session_id: turn.session_id,
            turn_id: turn.id,
            kind: asked.kind,
            title: asked.title,
            description: asked.description,
            tool_id: asked.tool_id,
            options: JSON.stringify(asked.options),
            default_option: asked.default,
            state: "pending",
            answer: null,
            expires_at: fromMillis(toMillis(at) + config.interactionExpiryMs),
            created_at: at,
            resolved_at: null
          }
          yield* db.run(sql`insert into interactions ${sql.insert({ ...row })}`)
          const interaction = toInteraction(row)
          yield* tell(interaction, actor)
          return interaction
        }),
        withdraw,
        settled: fn("Interactions.settled")(function* (id, commit) {
          const rung = yield* Effect.makeLatch(false)
          const stopListening = bell.listen(interactionTopic(id), () => rung.unsafeOpen())
          return yield* Effect.gen(function* () {
            while (true) {
              // Closed before the look, so that a ring during it is not missed.
              yield* rung.close
              const row = yield* find(id)
              if (row === undefined) return yield* Effect.dieMessage(`no interaction ${id}`)
              if (row.state !== "pending") return toInteraction(row)
              const left = toMillis(row.expires_at) - (yield* Clock.currentTimeMillis)
              if (left <= 0) yield* commit(expire(id))
              else yield* Effect.timeoutOption(rung.await, Math.min(left, pollMs))
            }
          }).pipe(Effect.ensuring(Effect.sync(stopListening)))
        })
      })
    })
  )
}

const clock = systemActor("interactions")

/** How long a lost ring can delay an answer. */
const pollMs = 5000

interface InteractionRow extends Omit<Interaction, "options" | "default"> {
  readonly options: string
  readonly default_option: string | null
}

const toInteraction = ({ default_option, options, ...row }: InteractionRow): Interaction => ({
  ...row,
  options: JSON.parse(options),
  default: default_option
})

const noOption = ({ options }: Interaction, answer: string): RequestInvalid => {
  const known = options.map(({ id }) => `'${id}'`).join(", ")
  return new RequestInvalid({
    loc: ["body", "answer"],
    issue: new ParseResult.Type(Schema.String.ast, answer, `it is no option of the interaction, which has ${known}`),
    input: answer
  })
}

const resolvedAlready = ({ answer, state }: Interaction): ReinsError =>
  new ReinsError({
    code: "invalid_transition",
    message:
      state === "answered"
        ? "The interaction has another answer already, which the agent was given."
        : `The interaction is ${state}: the agent does not wait for an answer any more.`,
    details: { resource: "interaction", from: state, to: "answered", answer }
  })
