import { Context, Effect, Layer } from "effect"
import { Access, actorOf } from "../access/Access.js"
import type { CreatedSession, SessionInput, SessionPatch } from "../api/SessionsApi.js"
import { fn } from "../base/Traced.js"
import { Providers } from "../catalog/Providers.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { Actor, EventType } from "../domain/Event.js"
import { type ConnectionId, type DelegationId, newId, SessionId, WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import type { HarnessSelection, ProjectVersion } from "../domain/Project.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import {
  type LinkKind,
  noUsage,
  type Session,
  type SessionActivity,
  type SessionLifecycle,
  sessionStates
} from "../domain/Session.js"
import { now } from "../domain/Timestamp.js"
import { Executors } from "../executor/Executors.js"
import { JobStore } from "../jobs/JobStore.js"
import { Projects } from "../projects/Projects.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { expectVersion } from "../store/Version.js"
import { Messages } from "./Messages.js"
import { SessionListeners } from "./SessionListeners.js"
import { type SessionChange, type SessionRow, SessionStore, sessionPayload, toSession } from "./SessionStore.js"
import { Turns } from "./Turns.js"
import type { WorkspaceSeed } from "./WorkingTrees.js"

/** The kind of the job that ends the executor of a closed session. */
export const releaseJobKind = "session.release"

export interface SessionFilter extends PageRequest {
  readonly lifecycle?: SessionLifecycle
  readonly activity?: SessionActivity
  readonly project_id?: string
  /** The children of this session. */
  readonly parent_session_id?: string
}

/** A session that works for another one. Its workspace starts where `source` started, and then takes the seed. */
export interface ChildSession {
  readonly delegationId: DelegationId
  readonly title: string
  /** The provider, connection and model of the parent where it does not say otherwise. */
  readonly harness: HarnessSelection | undefined
  readonly source: Pick<SessionRow, "project_version_id" | "repository" | "base_ref" | "base_commit">
  readonly seed: WorkspaceSeed | null
}

/** A session that goes on from another one with another provider. Of the old one it has the project, the repository and the names. */
export interface LinkedSession {
  readonly kind: LinkKind
  readonly harness: HarnessSelection
  readonly connectionId: ConnectionId | undefined
  /** What its workspace starts with, on the commit that it was made from; null starts from the repository as it is then. */
  readonly seed: WorkspaceSeed | null
}

/** Sessions: a conversation and a workspace, run by an executor with one provider. */
export class Sessions extends Context.Tag("@reins/core/sessions/Sessions")<
  Sessions,
  {
    readonly list: (
      principal: Principal,
      workspaceId: string,
      filter: SessionFilter
    ) => Effect.Effect<Page<Session>, ReinsError>
    /** Fails with `provider_disabled` or `connection_required` when no turn could run. A first message has no files yet to attach. */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: SessionInput
    ) => Command<CreatedSession, ReinsError | RequestInvalid>
    readonly get: (principal: Principal, sessionId: string) => Effect.Effect<Session, ReinsError>
    readonly update: (principal: Principal, sessionId: string, patch: SessionPatch) => Command<Session, ReinsError>
    /** Fails with `turn_active` while a turn waits or runs. */
    readonly archive: (principal: Principal, sessionId: string) => Command<Session, ReinsError>
    readonly unarchive: (principal: Principal, sessionId: string) => Command<Session, ReinsError>
    /** Cancels what waits and runs and releases the executor. Everything stays readable. */
    readonly close: (principal: Principal, sessionId: string) => Command<Session, ReinsError>
    /** Makes the child session of a delegation. The commit holds the parent. */
    readonly spawn: (
      parent: SessionRow,
      actor: Actor,
      child: ChildSession
    ) => Effect.Effect<SessionRow, ReinsError, Commit>
    /** `close` for a session that the running commit already holds. */
    readonly closeHeld: (session: SessionRow, actor: Actor) => Effect.Effect<Session, ReinsError, Commit>
    /** Makes a session that goes on from another one. The commit holds that one. */
    readonly link: (
      from: SessionRow,
      actor: Actor,
      next: LinkedSession
    ) => Effect.Effect<SessionRow, ReinsError, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const access = yield* Access
      const store = yield* SessionStore
      const turns = yield* Turns
      const messages = yield* Messages
      const projects = yield* Projects
      const providers = yield* Providers
      const connections = yield* ConnectionStore
      const executors = yield* Executors
      const jobs = yield* JobStore
      const listeners = yield* SessionListeners
      const sql = db.sql

      const turnIn = (states: string, more = "") =>
        `exists (select 1 from turns where turns.session_id = sessions.id and turns.state in (${states})${more})`
      const attention = turnIn("'interrupted'", " and acknowledged_at is null")
      const acting = turnIn("'requires_action'")
      const running = turnIn("'preparing', 'running', 'cancelling'")
      const queued = turnIn("'queued'")
      const withActivity: Record<SessionActivity, string> = {
        attention,
        requires_action: `${acting} and not ${attention}`,
        running: `${running} and not ${attention}`,
        queued: `${queued} and not ${running} and not ${acting} and not ${attention}`,
        idle: `not ${queued} and not ${running} and not ${acting} and not ${attention}`
      }

      const reread = (id: SessionId) =>
        Effect.flatMap(store.find(id), (row) => (row ? Effect.succeed(row) : Effect.fail(notFound())))

      const versionOf = (
        workspaceId: string,
        input: SessionInput
      ): Effect.Effect<ProjectVersion | undefined, ReinsError> => {
        if (input.project_version_id !== undefined)
          return projects.resolve(workspaceId, { versionId: input.project_version_id })
        if (input.project_id !== undefined) return projects.resolve(workspaceId, { projectId: input.project_id })
        return Effect.succeed(undefined)
      }

      /** Tells what became of a session, and gives back its row with the new watermark. */
      const told = (row: SessionRow, actor: Actor, type: SessionEventType) =>
        Effect.map(
          journal.append(row.id, actor, [{ type, payload: sessionPayload(row) }]),
          (event_watermark): SessionRow => ({ ...row, event_watermark })
        )

      const insert = Effect.fnUntraced(function* (
        workspaceId: WorkspaceId,
        actor: Actor,
        input: SessionInput,
        lineage: Lineage = {}
      ) {
        const version = yield* versionOf(workspaceId, input)
        const repository = input.repository ?? version?.spec.repository
        const selection = input.harness ?? version?.spec.harness
        const manifest = yield* providers.requireEnabled(selection?.provider_id ?? providers.defaultId)
        const given = input.connection_id === undefined ? (version?.spec.connection_ids ?? []) : [input.connection_id]
        const connectionId = yield* providers.chooseConnection(workspaceId, manifest, given)
        const preferred = connectionId === null ? null : yield* connections.preferredModel(workspaceId, connectionId)
        const at = yield* now
        const row = yield* store.insert({
          id: yield* newId(SessionId),
          workspace_id: workspaceId,
          project_id: version?.project_id ?? null,
          project_version_id: version?.id ?? null,
          title: input.title ?? null,
          labels: JSON.stringify(input.labels ?? {}),
          provider_id: manifest.provider_id,
          model: selection?.model ?? preferred,
          connection_id: connectionId,
          backend: yield* executors.choose((input.executor ?? version?.spec.executor)?.backend),
          lease_id: null,
          lease_state: "none",
          lease_created_at: null,
          lease_used_at: null,
          workspace_state: "none",
          repository: repository?.url ?? null,
          base_ref: repository?.base_ref ?? null,
          base_commit: lineage.base_commit ?? null,
          parent_session_id: lineage.parent_session_id ?? null,
          parent_delegation_id: lineage.parent_delegation_id ?? null,
          seed: lineage.seed ?? null,
          linked_from_session_id: lineage.linked_from_session_id ?? null,
          link_kind: lineage.link_kind ?? null,
          native_session_id: null,
          native_digest: null,
          context_lost: 0,
          auto_capture: input.auto_capture === false ? 0 : 1,
          lifecycle: "open",
          usage: JSON.stringify(noUsage),
          event_watermark: 0,
          message_count: 0,
          turn_count: 0,
          version: 1,
          created_at: at,
          updated_at: at,
          archived_at: null,
          closed_at: null
        })
        return yield* told(row, actor, "session.created")
      })

      /** Changes a session that the commit holds, and tells it. */
      const changed = Effect.fnUntraced(function* (
        actor: Actor,
        row: SessionRow,
        type: SessionEventType,
        change: SessionChange
      ) {
        yield* store.change(row.id, change, "touch")
        return toSession(yield* told(yield* reread(row.id), actor, type))
      })

      const closeHeld = Effect.fnUntraced(function* (row: SessionRow, actor: Actor) {
        yield* sessionStates.check(row.lifecycle, "closed")
        yield* listeners.closing(row, actor)
        yield* turns.cancelAll(row.id, actor)
        yield* jobs.enqueue({
          kind: releaseJobKind,
          subject: { type: "session", id: row.id },
          workspaceId: row.workspace_id,
          payload: { session_id: row.id },
          maxAttempts: 20
        })
        return yield* changed(actor, row, "session.closed", { lifecycle: "closed", closed_at: yield* now })
      })

      const spawn = Effect.fnUntraced(function* (parent: SessionRow, actor: Actor, child: ChildSession) {
        const { harness, source } = child
        const isSameProvider = harness === undefined || harness.provider_id === parent.provider_id
        const model = harness?.model ?? (isSameProvider ? parent.model : null)
        return yield* insert(
          parent.workspace_id,
          actor,
          {
            title: child.title,
            harness: { provider_id: harness?.provider_id ?? parent.provider_id, ...(model !== null && { model }) },
            executor: { backend: parent.backend },
            ...(source.project_version_id !== null && { project_version_id: source.project_version_id }),
            ...(isSameProvider && parent.connection_id !== null && { connection_id: parent.connection_id }),
            ...(source.repository !== null && {
              repository: { url: source.repository, ...(source.base_ref !== null && { base_ref: source.base_ref }) }
            })
          },
          {
            parent_session_id: parent.id,
            parent_delegation_id: child.delegationId,
            base_commit: source.base_commit,
            seed: child.seed === null ? null : JSON.stringify(child.seed)
          }
        )
      })

      const link = Effect.fnUntraced(function* (from: SessionRow, actor: Actor, next: LinkedSession) {
        const isSameProvider = next.harness.provider_id === from.provider_id
        const connectionId = next.connectionId ?? (isSameProvider ? (from.connection_id ?? undefined) : undefined)
        return yield* insert(
          from.workspace_id,
          actor,
          {
            harness: next.harness,
            executor: { backend: from.backend },
            labels: JSON.parse(from.labels),
            auto_capture: from.auto_capture === 1,
            ...(from.title !== null && { title: from.title }),
            ...(from.project_version_id !== null && { project_version_id: from.project_version_id }),
            ...(connectionId !== undefined && { connection_id: connectionId }),
            ...(from.repository !== null && {
              repository: { url: from.repository, ...(from.base_ref !== null && { base_ref: from.base_ref }) }
            })
          },
          {
            linked_from_session_id: from.id,
            link_kind: next.kind,
            ...(next.seed !== null && { base_commit: next.seed.base_commit, seed: JSON.stringify(next.seed) })
          }
        )
      })

      return Sessions.of({
        list: fn("Sessions.list")(function* (principal, workspaceId, filter) {
          yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(filter)
          const conditions = [
            sql`sessions.workspace_id = ${workspaceId}`,
            sql`sessions.id < ${before}`,
            ...(filter.lifecycle === undefined ? [] : [sql`sessions.lifecycle = ${filter.lifecycle}`]),
            ...(filter.project_id === undefined ? [] : [sql`sessions.project_id = ${filter.project_id}`]),
            ...(filter.parent_session_id === undefined
              ? []
              : [sql`sessions.parent_session_id = ${filter.parent_session_id}`]),
            ...(filter.activity === undefined ? [] : [sql.literal(withActivity[filter.activity])])
          ]
          const rows = yield* store.select(sql`${sql.and(conditions)} order by sessions.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toSession), limit, (session) => session.id)
        }),
        create: (principal, workspaceId, input) =>
          journal.command(
            "Sessions.create",
            Effect.gen(function* () {
              yield* access.write(principal, workspaceId)
              const row = yield* insert(WorkspaceId.make(workspaceId), actorOf(principal), input)
              if (input.message === undefined) return toSession(row)
              const sent = yield* messages.accept(principal, row, { content: input.message }, { field: "message" })
              return {
                ...toSession(yield* reread(row.id)),
                ...(sent.turn_id !== undefined && { turn_id: sent.turn_id }),
                ...(sent.operation !== undefined && { operation: sent.operation })
              }
            })
          ),
        get: (principal, sessionId) => Effect.map(store.readable(principal, sessionId), toSession),
        update: (principal, sessionId, patch) =>
          journal.command(
            "Sessions.update",
            Effect.gen(function* () {
              const row = yield* store.writable(principal, sessionId)
              yield* expectVersion(row.version, patch.expected_version)
              if (patch.provider_id !== undefined && patch.provider_id !== row.provider_id)
                return yield* switchRequired(row, patch.provider_id)
              if (row.lifecycle === "closed") yield* sessionStates.check("closed", "open")
              return yield* changed(actorOf(principal), row, "session.updated", {
                ...(patch.title !== undefined && { title: patch.title }),
                ...(patch.labels !== undefined && { labels: JSON.stringify(patch.labels) }),
                ...(patch.model !== undefined && { model: patch.model }),
                ...(patch.auto_capture !== undefined && { auto_capture: patch.auto_capture ? 1 : 0 })
              })
            })
          ),
        archive: (principal, sessionId) =>
          journal.command(
            "Sessions.archive",
            Effect.gen(function* () {
              const row = yield* store.writable(principal, sessionId)
              yield* sessionStates.check(row.lifecycle, "archived")
              if (row.active_turn_id !== null || row.queued_turns > 0) return yield* turnActive(row)
              return yield* changed(actorOf(principal), row, "session.archived", {
                lifecycle: "archived",
                archived_at: yield* now
              })
            })
          ),
        unarchive: (principal, sessionId) =>
          journal.command(
            "Sessions.unarchive",
            Effect.gen(function* () {
              const row = yield* store.writable(principal, sessionId)
              yield* sessionStates.check(row.lifecycle, "open")
              return yield* changed(actorOf(principal), row, "session.unarchived", {
                lifecycle: "open",
                archived_at: null
              })
            })
          ),
        spawn,
        close: (principal, sessionId) =>
          journal.command(
            "Sessions.close",
            Effect.flatMap(store.writable(principal, sessionId), (row) => closeHeld(row, actorOf(principal)))
          ),
        closeHeld,
        link
      })
    })
  )
}

type SessionEventType = Exclude<EventType & `session.${string}`, "session.linked">

type Lineage = Partial<
  Pick<
    SessionRow,
    "parent_session_id" | "parent_delegation_id" | "base_commit" | "seed" | "linked_from_session_id" | "link_kind"
  >
>

/** The refusal of what may only happen while no turn waits or runs. */
export const turnActive = (row: SessionRow): ReinsError =>
  new ReinsError({
    code: "turn_active",
    message: "A turn waits or runs in this session. Wait until it has ended, or cancel it.",
    details: { turn_id: row.active_turn_id, queued_turns: row.queued_turns }
  })

const switchRequired = (row: SessionRow, providerId: string): ReinsError =>
  new ReinsError({
    code: "harness_switch_required",
    message: `A session keeps its provider (${row.provider_id}). To go on with ${providerId}, create a new session with a summary.`,
    details: { provider_id: row.provider_id, requested: providerId }
  })
