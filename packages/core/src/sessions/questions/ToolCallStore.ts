import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import { ClaimId, InteractionId, newId, type TurnId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromMillis, fromNow, now, toMillis } from "@reins/base/domain/Timestamp"
import { Clock, Context, Effect, Layer } from "effect"
import { systemActor } from "../../access/Access.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import type { CallClaim, Interaction } from "../rows/Interaction.js"
import { SessionListeners } from "../rows/SessionListeners.js"
import { SessionStore } from "../rows/SessionStore.js"
import { isStarted, type Turn, turnStates, unprovenTurnState } from "../rows/Turn.js"
import { TurnStore } from "../turns/TurnStore.js"
import { type InteractionRow, interactionRows, toInteraction } from "./InteractionRows.js"
import { makeResolve, nothing } from "./ResolveInteraction.js"

/** The question of a tool call to somebody outside of the service. */
export interface KeptCall extends Pick<Interaction, "kind" | "title" | "description" | "options" | "form" | "tool"> {
  /** The retry of a turn finds the call again by it. */
  readonly key: string
  /** The time until nobody is waited for any more. */
  readonly deadlineMs: number
}

const clock = systemActor("interactions")

/**
 * The calls of tools that somebody outside of the service answers, as interactions, and the claims on them. Functions of callers and questions of
 * `ask_user` are such calls. A call belongs to its turn. That of an interrupted turn stays open, because a retry of the turn takes its answer.
 */
export class ToolCallStore extends Context.Tag("@reins/core/sessions/questions/ToolCallStore")<
  ToolCallStore,
  {
    /**
     * The interaction of a call. One that was opened or answered under the same key belongs to this turn from now on; else it is a new one. Locks the
     * session first. Undefined when the turn does not run any more.
     */
    readonly open: (
      turnId: TurnId,
      actor: Actor,
      call: KeptCall
    ) => Effect.Effect<Interaction | undefined, never, Commit>
    /**
     * Claims an open call for a holder, or renews the claim that it has. The commit holds the session. Fails with `already_claimed` while somebody
     * else has it.
     */
    readonly claim: (
      interaction: Interaction,
      holder: string,
      seconds: number
    ) => Effect.Effect<CallClaim, ReinsError<"already_claimed">, Commit>
    /** Fails with `already_claimed` unless the call may be answered: with its claim, or while nobody has one. */
    readonly requireClaim: (
      interaction: Interaction,
      claimId: string | undefined
    ) => Effect.Effect<void, ReinsError<"already_claimed">, Commit>
    /** Cancels the open calls of a turn that nobody tries again. The commit holds the session. */
    readonly withdraw: (turnId: TurnId, actor: Actor) => Effect.Effect<void, never, Commit>
    /** The open calls whose time is over, which nobody waits for, so that somebody ends them. */
    readonly overdue: (limit: number) => Effect.Effect<ReadonlyArray<Interaction>>
    /** Ends a call whose time is over. Locks the session first. */
    readonly expire: (id: InteractionId) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    ToolCallStore,
    Effect.gen(function* () {
      const db = yield* Database
      const sessions = yield* SessionStore
      const listeners = yield* SessionListeners
      const turns = yield* TurnStore
      const { resolve } = yield* makeResolve
      const rows = yield* interactionRows
      const { sql } = db
      const open = yield* makeOpenCall
      const claims = yield* makeClaims

      const withdraw = Effect.fnUntraced(function* (turnId: TurnId, actor: Actor) {
        for (const interaction of yield* rows.pendingOf(turnId, "kept"))
          yield* resolve(interaction, "cancelled", nothing, actor)
      })

      /** A call outlives no other end than that of an interrupted turn, and not the end of its last retry. */
      const ended = Effect.fnUntraced(function* (turn: Turn, actor: Actor) {
        let before: Turn | undefined = turn
        while (before !== undefined) {
          yield* withdraw(before.id, actor)
          before = before.retry_of_turn_id === null ? undefined : yield* turns.find(before.retry_of_turn_id)
        }
      })
      yield* listeners.register({
        turnMoved: Effect.fnUntraced(function* (turn, actor) {
          if (!turnStates.isTerminal(turn.state)) return
          // The turn that the listener is given is as it was before the service acknowledged it.
          const isLeft = turn.state === unprovenTurnState && (yield* turns.find(turn.id))?.acknowledged_at === null
          if (!isLeft) yield* ended(turn, actor)
        })
      })

      return ToolCallStore.of({
        open,
        ...claims,
        withdraw,
        overdue: fn("ToolCallStore.overdue")(function* (limit) {
          const at = yield* now
          const found = yield* db.all(sql<InteractionRow>`select * from interactions
            where state = 'pending' and call_key is not null and expires_at <= ${at} order by expires_at limit ${limit}`)
          return found.map(toInteraction)
        }),
        expire: fn("ToolCallStore.expire")(function* (id) {
          yield* sessions.lock((yield* rows.existing(id)).session_id)
          const interaction = yield* rows.existing(id)
          if (interaction.state === "pending" && (yield* isOver(interaction)))
            yield* resolve(interaction, "expired", nothing, clock)
        })
      })
    })
  )
}

/** True for an interaction whose time is over. */
export const isOver = ({ expires_at }: Interaction): Effect.Effect<boolean> =>
  Effect.map(Clock.currentTimeMillis, (at) => at >= toMillis(expires_at))

/** `ToolCallStore.open`. */
const makeOpenCall = Effect.gen(function* () {
  const db = yield* Database
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const { tell } = yield* makeResolve
  const { sql } = db

  /** The open or answered call of a key. An answer counts however late its call comes again. */
  const known = Effect.fnUntraced(function* (key: string) {
    const row = yield* db.first(sql<InteractionRow>`select * from interactions
      where call_key = ${key} and state in ('pending', 'answered') order by id desc limit 1`)
    const found = row && toInteraction(row)
    return found !== undefined && found.state === "pending" && (yield* isOver(found)) ? undefined : found
  })

  return fn("ToolCallStore.open")(function* (turnId: TurnId, actor: Actor, call: KeptCall) {
    const unheld = yield* turns.find(turnId)
    if (unheld !== undefined) yield* sessions.lock(unheld.session_id)
    const turn = yield* turns.find(turnId)
    if (turn === undefined || !isStarted(turn.state)) return undefined
    const before = yield* known(call.key)
    if (before !== undefined) {
      if (before.state === "answered" || before.turn_id === turnId) return before
      yield* db.run(sql`update interactions set turn_id = ${turnId} where id = ${before.id}`)
      const taken = { ...before, turn_id: turnId }
      yield* tell(taken, actor)
      return taken
    }
    const at = yield* now
    const row: InteractionRow = {
      id: yield* newId(InteractionId),
      session_id: turn.session_id,
      turn_id: turn.id,
      kind: call.kind,
      title: call.title,
      description: call.description,
      subject: null,
      tool_id: null,
      budget_of: null,
      options: JSON.stringify(call.options),
      form: call.form === null ? null : JSON.stringify(call.form),
      url: null,
      default_option: null,
      tool: call.tool === null ? null : JSON.stringify(call.tool),
      call_key: call.key,
      claim: null,
      state: "pending",
      answer: null,
      note: null,
      content: null,
      result: null,
      is_error: 0,
      expires_at: fromMillis(toMillis(at) + call.deadlineMs),
      created_at: at,
      resolved_at: null
    }
    yield* db.run(sql`insert into interactions ${sql.insert({ ...row })}`)
    const interaction = toInteraction(row)
    yield* tell(interaction, actor)
    return interaction
  })
})

/** A claim as it is stored. Only its holder knows its id. */
interface StoredClaim extends CallClaim {
  readonly holder: string
}

/** The claims on calls. */
const makeClaims = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db
  const stored = existingOf("interaction", (id: string) =>
    db.first(sql<Pick<InteractionRow, "claim" | "tool">>`select claim, tool from interactions where id = ${id}`)
  )
  const claimOf = Effect.fnUntraced(function* ({ id }: Interaction) {
    const { claim } = yield* stored(id)
    const found: StoredClaim | undefined = claim === null ? undefined : JSON.parse(claim)
    return found && { claim: found, isHeld: toMillis(found.until) > (yield* Clock.currentTimeMillis) }
  })

  return {
    claim: fn("ToolCallStore.claim")(function* (interaction: Interaction, holder: string, seconds: number) {
      const found = yield* claimOf(interaction)
      const isOwn = found?.claim.holder === holder
      if (found?.isHeld === true && !isOwn) return yield* claimed(found.claim)
      const claim: StoredClaim = {
        claim_id: isOwn ? found.claim.claim_id : yield* newId(ClaimId),
        holder,
        until: yield* fromNow(seconds * 1000),
        attempt: isOwn ? found.claim.attempt : (found?.claim.attempt ?? 0) + 1
      }
      const tool = JSON.stringify({ ...interaction.tool, attempt: claim.attempt })
      yield* db.run(sql`update interactions set claim = ${JSON.stringify(claim)}, tool = ${tool}
        where id = ${interaction.id}`)
      const { attempt, claim_id, until } = claim
      return { claim_id, until, attempt }
    }),
    requireClaim: fn("ToolCallStore.requireClaim")(function* (interaction: Interaction, claimId: string | undefined) {
      const found = yield* claimOf(interaction)
      const isRight = claimId === undefined ? found?.isHeld !== true : found?.claim.claim_id === claimId
      if (!isRight) return yield* claimed(found?.claim ?? null)
    })
  }
})

const claimed = (claim: Pick<StoredClaim, "holder" | "until"> | null): ReinsError<"already_claimed"> =>
  new ReinsError({
    code: "already_claimed",
    message:
      claim === null
        ? "The call has no such claim. Claim it first, and answer with the claim_id of that answer."
        : `Another holder has claimed the call until ${claim.until}. It answers, or the call can be claimed after that.`,
    details: { holder: claim?.holder ?? null, until: claim?.until ?? null }
  })
