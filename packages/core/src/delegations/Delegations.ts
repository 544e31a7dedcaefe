import { Context, Effect, Layer } from "effect"
import { Access, actorOf, systemActor } from "../access/Access.js"
import type { MessageSend, SentMessage } from "../api/ConversationApi.js"
import type { DelegationAnswer, DelegationInput } from "../api/DelegationsApi.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { Changesets } from "../changes/Changesets.js"
import { type Delegation, type DelegationReason, delegationStates } from "../domain/Delegation.js"
import type { Actor } from "../domain/Event.js"
import { DelegationId, newId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { fromNow } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import { Messages } from "../sessions/Messages.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { type ChildSession, Sessions } from "../sessions/Sessions.js"
import { notOpen, Turns } from "../sessions/Turns.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { DelegationStore } from "./DelegationStore.js"
import { ResultSchemas } from "./ResultSchemas.js"

/** The kind of the job that ends a delegation at its deadline. */
export const deadlineJobKind = "delegation.deadline"

/** Parts of the work of a session that child sessions do. What becomes of one with the turns of its child is told by `DelegationTurns`. */
export class Delegations extends Context.Tag("@reins/core/delegations/Delegations")<
  Delegations,
  {
    /** Those of a session, newest first. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Delegation>, ReinsError>
    readonly get: (principal: Principal, delegationId: string) => Effect.Effect<Delegation, ReinsError>
    /**
     * Makes a child session and sends it the instructions. Fails with `delegation_limit`, with `stale_subject` for an unsealed
     * changeset, and like the creation of a session when no turn could run.
     */
    readonly spawn: (
      principal: Principal,
      sessionId: string,
      input: DelegationInput
    ) => Command<DelegationAnswer, ReinsError | RequestInvalid>
    /** Cancels the turns of the child and closes it. Fails with `invalid_transition` for one that has ended. */
    readonly cancel: (principal: Principal, delegationId: string) => Command<Delegation, ReinsError>
    /** Sends the child another message, with uploads of the child. Fails with `invalid_transition` once the delegation has ended. */
    readonly send: (
      principal: Principal,
      delegationId: string,
      input: MessageSend
    ) => Command<SentMessage, ReinsError | RequestInvalid>
    /** Fails a delegation whose deadline has passed and cancels the turns of its child. */
    readonly expire: (delegationId: string) => Effect.Effect<void, never, Commit>
    /** Cancels what a session that is being closed has delegated, and the delegation that it works for. */
    readonly cancelOf: (session: SessionRow, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Delegations,
    Effect.gen(function* () {
      const journal = yield* Journal
      const access = yield* Access
      const jobs = yield* JobStore
      const rows = yield* SessionStore
      const sessions = yield* Sessions
      const messages = yield* Messages
      const turns = yield* Turns
      const changesets = yield* Changesets
      const store = yield* DelegationStore
      const schemas = yield* ResultSchemas
      const { limits } = yield* CoreConfig

      const depthBelow = Effect.fnUntraced(function* (parent: SessionRow) {
        if (parent.parent_delegation_id === null) return 1
        return ((yield* store.find(parent.parent_delegation_id))?.depth ?? 0) + 1
      })

      /** Where the child starts: where its parent did, or with the files of a changeset. */
      const startOf = Effect.fnUntraced(function* (
        principal: Principal,
        parent: SessionRow,
        input: DelegationInput
      ): Effect.fn.Return<Pick<ChildSession, "source" | "seed">, ReinsError> {
        if (input.changeset_id === undefined) return { source: parent, seed: null }
        const changeset = yield* changesets.get(principal, input.changeset_id)
        const source = yield* rows.readable(principal, changeset.session_id)
        if (source.workspace_id !== parent.workspace_id) return yield* notFound()
        const { base_commit, id, session_id, tree } = changeset
        if (tree === null) return yield* unsealed(changeset.state)
        return { source: { ...source, base_commit }, seed: { changeset_id: id, session_id, base_commit, tree } }
      })

      const deadlineOf = Effect.fnUntraced(function* (id: DelegationId, parent: SessionRow, seconds: number) {
        const deadline = yield* fromNow(seconds * 1000)
        const { job_id } = yield* jobs.enqueue({
          kind: deadlineJobKind,
          subject: { type: "delegation", id },
          workspaceId: parent.workspace_id,
          payload: { delegation_id: id },
          maxAttempts: 20,
          runAt: deadline
        })
        return { deadline_at: deadline, deadlineJobId: job_id }
      })

      const insert = Effect.fnUntraced(function* (principal: Principal, parent: SessionRow, input: DelegationInput) {
        const actor = actorOf(principal)
        const depth = yield* depthBelow(parent)
        if (depth > limits.delegationDepth) return yield* tooDeep(limits.delegationDepth)
        if ((yield* store.live(parent.id)).length >= limits.liveDelegations)
          return yield* tooMany(limits.liveDelegations)
        const id = yield* newId(DelegationId)
        const child = yield* sessions.spawn(parent, actor, {
          delegationId: id,
          title: input.role,
          harness: input.harness,
          ...(yield* startOf(principal, parent, input))
        })
        const deadline =
          input.deadline_seconds === undefined
            ? { deadline_at: null, deadlineJobId: null }
            : yield* deadlineOf(id, parent, input.deadline_seconds)
        const delegation = yield* store.insert(
          {
            id,
            workspace_id: parent.workspace_id,
            session_id: parent.id,
            child_session_id: child.id,
            depth,
            changeset_id: input.changeset_id ?? null,
            brief: {
              role: input.role,
              instructions: input.instructions,
              result_schema: input.result_schema ?? null
            },
            ...deadline
          },
          actor
        )
        return { child, delegation }
      })

      /** Ends a live delegation for its child too. The commit holds the child. */
      const cancelHeld = Effect.fnUntraced(function* (
        delegation: Delegation,
        child: SessionRow,
        actor: Actor,
        reason: DelegationReason,
        message: string
      ) {
        const cancelled = yield* store.move(delegation.id, "cancelled", actor, { reason, message })
        // The child may be closing already, which is why this is called.
        if (child.lifecycle !== "closed") yield* Effect.orDie(sessions.closeHeld(child, actor))
        return cancelled
      })

      return Delegations.of({
        list: fn("Delegations.list")(function* (principal, sessionId, page) {
          const session = yield* rows.readable(principal, sessionId)
          return yield* store.list(session.id, page)
        }),
        get: store.readable,
        spawn: (principal, sessionId, input) =>
          journal.prepared(
            "Delegations.spawn",
            Effect.gen(function* () {
              const seen = yield* rows.readable(principal, sessionId)
              yield* access.write(principal, seen.workspace_id)
              if (input.result_schema !== undefined) yield* schemas.checkSchema(input.result_schema)
              return Effect.gen(function* () {
                const parent = yield* rows.writable(principal, sessionId)
                if (parent.lifecycle !== "open") return yield* notOpen(parent)
                const { child, delegation } = yield* insert(principal, parent, input)
                const sent = yield* messages.post(
                  child,
                  actorOf(principal),
                  { content: input.instructions },
                  "delegation"
                )
                if (sent.operation === undefined) return yield* Effect.dieMessage("a queued message has no turn")
                const watermark = yield* journal.append(parent.id, actorOf(principal), [])
                return { operation: sent.operation, delegation, event_watermark: watermark }
              })
            })
          ),
        cancel: (principal, delegationId) =>
          journal.command(
            "Delegations.cancel",
            Effect.gen(function* () {
              const { child, delegation } = yield* store.writable(principal, delegationId)
              yield* delegationStates.check(delegation.state, "cancelled")
              return yield* cancelHeld(delegation, child, actorOf(principal), "user_cancelled", "It was cancelled.")
            })
          ),
        send: (principal, delegationId, input) =>
          journal.command(
            "Delegations.send",
            Effect.gen(function* () {
              const { child, delegation } = yield* store.writable(principal, delegationId)
              if (delegationStates.isTerminal(delegation.state)) return yield* ended(delegation)
              const actor = actorOf(principal)
              const sent = yield* messages.accept(principal, child, input, { kind: "delegation" })
              yield* store.tell(delegation, actor, {
                type: "delegation.message_sent",
                payload: { child_session_id: child.id, message_id: sent.message.id }
              })
              return sent
            })
          ),
        expire: fn("Delegations.expire")(function* (delegationId) {
          const held = yield* store.lock(delegationId)
          if (held === undefined || delegationStates.isTerminal(held.delegation.state)) return
          yield* store.move(held.delegation.id, "failed", clock, {
            reason: "deadline_exceeded",
            message: "Its deadline passed before there was a result. The child session is kept; look at what it did."
          })
          yield* turns.cancelAll(held.child.id, clock)
        }),
        cancelOf: fn("Delegations.cancelOf")(function* (session, actor) {
          if (session.parent_delegation_id !== null) {
            const own = yield* store.find(session.parent_delegation_id)
            if (own !== undefined && !delegationStates.isTerminal(own.state))
              yield* store.move(own.id, "cancelled", actor, {
                reason: "session_closed",
                message: "The child session was closed."
              })
          }
          for (const { id } of yield* store.live(session.id)) {
            const held = yield* store.lock(id)
            if (held === undefined || delegationStates.isTerminal(held.delegation.state)) continue
            const message = "The session that delegated was closed."
            yield* cancelHeld(held.delegation, held.child, actor, "session_closed", message)
          }
        })
      })
    })
  )
}

const clock = systemActor("delegations")

const ended = (delegation: Delegation): ReinsError =>
  new ReinsError({
    code: "invalid_transition",
    message: `The delegation has ended: it is ${delegation.state}. Send a message to its child session instead, or delegate again.`,
    details: { resource: "delegation", from: delegation.state, child_session_id: delegation.child_session_id }
  })

const unsealed = (state: string): ReinsError =>
  new ReinsError({
    code: "stale_subject",
    message: "Only a sealed changeset can be delegated. Wait for the event changeset.ready, or capture a new one.",
    details: { state }
  })

const tooMany = (limit: number) =>
  new ReinsError({
    code: "delegation_limit",
    message: `${limit} delegations of this session are live already. Wait for one to end, or cancel one.`,
    details: { limit }
  })

const tooDeep = (depth: number) =>
  new ReinsError({
    code: "delegation_limit",
    message: `Delegations are nested at most ${depth} deep. Let this session do the work itself.`,
    details: { depth }
  })
