import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { actorOf } from "../access/Access.js"
import type { MergeInput, MergeRequestAnswer, MergeRequestInput } from "../api/ChangesApi.js"
import { fn } from "../base/Traced.js"
import { Connections } from "../connections/Connections.js"
import { type Delivery, deliveryStates } from "../domain/Delivery.js"
import { MergeRequestId, newId } from "../domain/Ids.js"
import { oneOf } from "../domain/Installed.js"
import { type MergeRequest, mergeRequestStates } from "../domain/MergeRequest.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { Forges } from "../forge/Forges.js"
import { isRefName } from "../git/RefName.js"
import { JobStore } from "../jobs/JobStore.js"
import { Projects } from "../projects/Projects.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { Deliveries, notBranch } from "./Deliveries.js"
import { MergeRequestStore } from "./MergeRequestStore.js"

/** The kind of the job that opens a merge request. */
export const openJobKind = "merge_request.open"
/** The kind of the job that merges one; its payload is `{expected_head_sha, method}`. */
export const mergeJobKind = "merge_request.merge"

/** What a forge may be asked again for while it counts what it was asked. */
const maxAttempts = 8

/** Delivered branches on GitHub, GitLab and Gitea. */
export class MergeRequests extends Context.Tag("@reins/core/changes/MergeRequests")<
  MergeRequests,
  {
    readonly get: (principal: Principal, mergeRequestId: string) => Effect.Effect<MergeRequest, ReinsError>
    /** Newest first. */
    readonly list: (
      principal: Principal,
      deliveryId: string,
      page: PageRequest
    ) => Effect.Effect<Page<MergeRequest>, ReinsError>
    /**
     * Asks for a merge request of a delivered branch. One that is pending or open for the same base is given back. Fails with
     * `delivery_unresolved` until the delivery has succeeded, and with `connection_required` without a connection to the forge that
     * the repository is on.
     */
    readonly open: (
      principal: Principal,
      deliveryId: string,
      input: MergeRequestInput
    ) => Command<MergeRequestAnswer, ReinsError | RequestInvalid>
    /** Asks for the merge of an open one. Fails with `remote_head_changed` unless its head was last seen at `expected_head_sha`. */
    readonly merge: (
      principal: Principal,
      mergeRequestId: string,
      input: MergeInput
    ) => Command<MergeRequestAnswer, ReinsError>
  }
>() {
  static readonly layer = Layer.effect(
    MergeRequests,
    Effect.gen(function* () {
      const sql = (yield* Database).sql
      const journal = yield* Journal
      const jobs = yield* JobStore
      const sessions = yield* SessionStore
      const projects = yield* Projects
      const forges = yield* Forges
      const connections = yield* Connections
      const deliveries = yield* Deliveries
      const store = yield* MergeRequestStore

      const existing = existingOf("merge request", store.find)
      const answer = Effect.fnUntraced(function* (
        id: string,
        principal: Principal,
        operation: MergeRequestAnswer["operation"]
      ) {
        const request = yield* existing(id)
        return {
          operation,
          merge_request: request,
          event_watermark: yield* journal.append(request.session_id, actorOf(principal), [])
        }
      })
      const enqueue = (
        kind: string,
        id: MergeRequestId,
        session: SessionRow,
        payload: Readonly<Record<string, unknown>>
      ) =>
        jobs.enqueue({
          kind,
          subject: { type: "merge_request", id },
          workspaceId: session.workspace_id,
          payload,
          maxAttempts
        })

      /** The connection of the delivery; else the first of the project that leads to the forge of the repository. */
      const forgeOf = Effect.fnUntraced(function* (principal: Principal, delivery: Delivery, session: SessionRow) {
        const own = delivery.connection_id === null ? undefined : [delivery.connection_id]
        const ids = own ?? (yield* projectConnections(session))
        for (const id of ids) {
          const connection = yield* connections.get(principal, id)
          if (connection.state !== "active") continue
          const repository = forges.pathOf(connection, delivery.remote_url ?? "")
          if (repository !== undefined) return { connection, forge: connection.kind, repository }
        }
        return yield* forgeRequired(forges.list.map(({ kind }) => kind))
      })
      const projectConnections = Effect.fnUntraced(function* (session: SessionRow) {
        if (session.project_version_id === null) return []
        const version = yield* projects.resolve(session.workspace_id, { versionId: session.project_version_id })
        return version.spec.connection_ids ?? []
      })

      return MergeRequests.of({
        get: fn("MergeRequests.get")(function* (principal, id) {
          const request = yield* store.find(id)
          if (request === undefined) return yield* notFound()
          yield* sessions.readable(principal, request.session_id)
          return request
        }),
        list: fn("MergeRequests.list")(function* (principal, deliveryId, page) {
          const delivery = yield* deliveries.get(principal, deliveryId)
          const { before, limit } = yield* Keyset.descending(page)
          const found = yield* store.select(
            sql`delivery_id = ${delivery.id} and id < ${before} order by id desc limit ${limit + 1}`
          )
          return Keyset.page(found, limit, (request) => request.id)
        }),
        open: (principal, deliveryId, input) =>
          journal.command(
            "MergeRequests.open",
            Effect.gen(function* () {
              const found = yield* deliveries.get(principal, deliveryId)
              const session = yield* sessions.writable(principal, found.session_id)
              // Read again now that its session is held against other writers.
              const delivery = yield* deliveries.get(principal, deliveryId)
              yield* requireBranch(delivery)
              const base = yield* baseBranch(session, delivery, input)
              const [known] = yield* store.select(sql`delivery_id = ${delivery.id} and base_branch = ${base}
                and state in ('pending', 'open')`)
              if (known !== undefined) return yield* answer(known.id, principal, yield* jobs.newestOf(known.id))
              const { connection, forge, repository } = yield* forgeOf(principal, delivery, session)
              const { id } = yield* store.insert(
                {
                  id: yield* newId(MergeRequestId),
                  delivery_id: delivery.id,
                  changeset_id: delivery.changeset_id,
                  session_id: delivery.session_id,
                  connection_id: connection.id,
                  forge,
                  repository,
                  head_branch: delivery.target_ref,
                  base_branch: base,
                  title: titleOf(input, delivery),
                  description: input.description ?? "",
                  draft: input.draft ?? true
                },
                actorOf(principal)
              )
              return yield* answer(id, principal, yield* enqueue(openJobKind, id, session, {}))
            })
          ),
        merge: (principal, id, input) =>
          journal.command(
            "MergeRequests.merge",
            Effect.gen(function* () {
              const found = yield* store.find(id)
              if (found === undefined) return yield* notFound()
              const session = yield* sessions.writable(principal, found.session_id)
              const request = yield* existing(id)
              yield* mergeRequestStates.check(request.state, "merged")
              const method = input.method ?? "merge"
              const methods = forges.find(request.forge)?.mergeMethods ?? new Set()
              if (!methods.has(method)) return yield* unsupportedMethod(request.forge, method, methods)
              if (request.head_sha !== input.expected_head_sha) return yield* headChanged(request)
              const last = yield* jobs.newestOf(request.id)
              if (last.state !== "succeeded" && last.state !== "failed" && last.state !== "cancelled") {
                return yield* answer(request.id, principal, last)
              }
              yield* store.mergeRequested(request.id, actorOf(principal))
              const payload = { expected_head_sha: input.expected_head_sha, method }
              return yield* answer(request.id, principal, yield* enqueue(mergeJobKind, request.id, session, payload))
            })
          )
      })
    })
  )
}

/** Fails unless the delivery has put a branch on the remote. */
const requireBranch = (delivery: Delivery): Effect.Effect<void, ReinsError> => {
  if (delivery.state === "succeeded" && delivery.transport === "git_branch") return Effect.void
  if (delivery.transport === "patch" || deliveryStates.isTerminal(delivery.state)) {
    return Effect.fail(
      new ReinsError({
        code: "invalid_transition",
        message:
          'Only a branch that was delivered can become a merge request. Deliver with the transport "git_branch".',
        details: { resource: "delivery", from: delivery.state, transport: delivery.transport }
      })
    )
  }
  return Effect.fail(
    new ReinsError({
      code: "delivery_unresolved",
      message:
        "The delivery has not succeeded. Wait for the event delivery.succeeded; one that failed or is blocked needs a retry.",
      details: { state: delivery.state, reason: delivery.reason }
    })
  )
}

const baseBranch = (
  session: SessionRow,
  delivery: Delivery,
  input: MergeRequestInput
): Effect.Effect<string, RequestInvalid> => {
  const base = input.base_branch?.replace(/^refs\/heads\//, "") ?? session.base_ref
  const isBranch = base !== null && isRefName(base) && base !== delivery.target_ref
  if (isBranch && (input.base_branch !== undefined || !/^[0-9a-f]{40}$/.test(base))) return Effect.succeed(base)
  if (input.base_branch !== undefined) return Effect.fail(notBranch("base_branch", input.base_branch))
  const issue = new ParseResult.Type(
    Schema.String.ast,
    input.base_branch,
    "The session did not start from a branch, so the branch to merge into is needed"
  )
  return Effect.fail(new RequestInvalid({ loc: ["body", "base_branch"], issue, input: input.base_branch ?? null }))
}

const titleOf = (input: MergeRequestInput, delivery: Delivery): string =>
  (input.title ?? delivery.title ?? "Changes by a coding session").replace(/\s+/g, " ").trim().slice(0, 250)

const forgeRequired = (forges: ReadonlyArray<string>) =>
  new ReinsError({
    code: "connection_required",
    message: `A merge request needs an active connection of the kind ${oneOf(forges)} to the host of the repository. Create one, then name it in the delivery or in the project.`
  })

const unsupportedMethod = (forge: string, method: string, supported: ReadonlySet<string>): ReinsError =>
  new ReinsError({
    code: "unsupported_capability",
    message: `${forge} cannot be asked to merge with the method "${method}". Use another one.`,
    details: { forge, method, supported: [...supported] }
  })

const headChanged = (request: MergeRequest): ReinsError =>
  new ReinsError({
    code: "remote_head_changed",
    message:
      "The head of the merge request was last seen at another commit. Refresh the delivery, look at what is there, then merge that.",
    details: { head_sha: request.head_sha, observed_at: request.observed_at }
  })
