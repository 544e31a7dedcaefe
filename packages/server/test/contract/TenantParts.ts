import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { sealSubject } from "@reins/base/base/SealSubject"
import {
  ChangesetId,
  DeliveryId,
  EventId,
  MergeRequestId,
  newId,
  SessionId,
  TurnId,
  WebhookDeliveryId,
  WorkspaceId
} from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { systemActor } from "@reins/core/access/Access"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { treeCapture } from "@reins/core/changes/Capture"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { ToolCallStore } from "@reins/core/sessions/questions/ToolCallStore"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Leases } from "@reins/core/worktrees/Leases"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { json, localServer } from "@reins/testing/connections/LocalServer"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Context, Effect, Layer, Schema } from "effect"
import { change, type newCaller } from "../Service.js"
import type { Json } from "./Document.js"

const actor = systemActor("test")

/** The answers of a host at which people log in to tools, by its own address; undefined for those of a gateway. */
const loginAnswers = (url: string): Readonly<Record<string, object>> => ({
  "/.well-known/oauth-protected-resource/mcp": { resource: `${url}/mcp`, authorization_servers: [url] },
  "/.well-known/oauth-authorization-server": {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    registration_endpoint: `${url}/register`,
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"]
  },
  "/register": { client_id: "client-of-reins" }
})

/**
 * A model gateway that every connection of the kind alpha_gateway leads to. A server of tools is at its path `/mcp`. The service has to allow
 * `127.0.0.1`.
 */
export class Gateway extends Context.Tag("@reins/server/test/contract/Gateway")<Gateway, { readonly url: string }>() {
  static readonly layer = Layer.scoped(
    Gateway,
    localServer(({ headers, path }, response) => {
      const found = loginAnswers(`http://${headers.host}`)[path]
      json(response, 200, found ?? { object: "list", data: [{ id: "thinker", object: "model" }] })
    }).pipe(Effect.map(({ url }) => ({ url: `${url}/v1` })))
  )
}

/** A login at the server of tools of the gateway that waits for a browser. */
export const newLogin = ({ ids, person }: Pick<Tenant, "ids" | "person">) =>
  Effect.gen(function* () {
    const server_url = new URL("/mcp", (yield* Gateway).url).href
    const begun = yield* done(person, "POST", `/api/workspaces/${ids["workspace_id"]}/connection-logins`, {
      server_url
    })
    const state = new URL(textAt(begun, "authorize_url")).searchParams.get("state") ?? ""
    return { connection_login_id: textAt(begun, "login.id"), state }
  })

export const allowGateway = { allowPrivateHosts: ["127.0.0.1"] }

const isJson = Schema.is(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** A value of an answer by its path, as in `operation.job_id`. */
export const textAt = (json: unknown, path: string): string => {
  let value = json
  for (const key of path.split(".")) {
    if (Array.isArray(value)) value = value[Number(key)]
    else value = isJson(value) ? value[key] : undefined
  }
  if (typeof value !== "string") throw new Error(`no ${path} in ${JSON.stringify(json)}`)
  return value
}

type Person = Effect.Effect.Success<ReturnType<typeof newCaller>>

/** An account with one of every resource, made without any agent: nobody works the jobs of the service. */
export interface Tenant {
  readonly person: Person
  /** By the path parameters of the API. */
  readonly ids: Readonly<Record<string, string>>
  /** The ids that bodies and queries may refer to besides. */
  readonly projectVersionId: string
  readonly forgeConnectionId: string
  readonly uploadId: string
}

/** The head of the merge request of every tenant. */
export const headSha = "a".repeat(40)

export const repository = "https://gitea.example/team/thing.git"

/** A change as the person makes it, which has to succeed. */
export const done = (person: Person, method: string, path: string, body?: unknown) =>
  Effect.flatMap(change(method, path, { headers: person.bearer, ...(body !== undefined && { body }) }), (reply) =>
    reply.status < 300
      ? Effect.succeed(reply.json)
      : Effect.dieMessage(`${method} ${path} was answered with ${reply.status} ${reply.text}`)
  )

export const newSession = (tenant: Pick<Tenant, "ids" | "person">, body: Json = {}) =>
  Effect.map(
    done(tenant.person, "POST", `/api/workspaces/${tenant.ids["workspace_id"]}/sessions`, body),
    (session) => ({
      session,
      id: SessionId.make(textAt(session, "id"))
    })
  )

export const fileOfWorkspaces = "docs/read me.md"

/** Gives a session a workspace with one file, as its first turn would. */
export const furnish = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const trees = yield* WorkingTrees
    yield* trees.make(sessionId)
    const file = join((yield* pathsOf(sessionId)).workTree, fileOfWorkspaces)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, "# Read me\n\nc\u00f4t\u00e9\n")
  })

export const sealedChangeset = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const changesets = yield* ChangesetStore
    const journal = yield* Journal
    const session = yield* (yield* SessionStore).find(sessionId)
    if (session === undefined) return yield* Effect.dieMessage("no session")
    const id = yield* newId(ChangesetId)
    yield* journal.commit(changesets.open(id, sessionId, actor, { origin: "explicit", label: "test", turnId: null }))
    const captured = yield* (yield* treeCapture)(session, id)
    yield* journal.commit(changesets.seal(id, captured, actor))
    return id
  })

/** A branch that was delivered to a forge, with its open merge request. */
const delivered = (tenant: {
  readonly changesetId: string
  readonly sessionId: string
  readonly connectionId: string
}) =>
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const at = yield* now
    const id = yield* newId(DeliveryId)
    const subjects = {
      changeset_id: tenant.changesetId,
      session_id: tenant.sessionId,
      connection_id: tenant.connectionId,
      version: 1,
      created_at: at,
      updated_at: at
    }
    yield* run(
      sql`insert into deliveries ${sql.insert({
        ...subjects,
        id,
        transport: "git_branch",
        target_ref: `reins/${id}`,
        title: "Thing",
        update_strategy: "fast_forward",
        state: "succeeded",
        remote_url: repository,
        commit_sha: headSha,
        observed_head: headSha,
        steps: "[]"
      })}`
    )
    return id
  })

/** A delivery that has put a branch on a forge. */
export const newBranch = (tenant: Tenant) =>
  delivered({
    changesetId: tenant.ids["changeset_id"] ?? "",
    sessionId: tenant.ids["session_id"] ?? "",
    connectionId: tenant.forgeConnectionId
  })

/** An open merge request of a branch. */
export const newMergeRequest = (tenant: Tenant) =>
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const deliveryId = yield* newBranch(tenant)
    const opened = yield* done(tenant.person, "POST", `/api/deliveries/${deliveryId}/merge-requests`, {
      base_branch: "main"
    })
    const id = textAt(opened, "merge_request.id")
    yield* run(sql`update merge_requests set state = 'open', number = 1, head_sha = ${headSha},
      web_url = 'https://gitea.example/team/thing/pulls/1', observed_at = ${yield* now} where id = ${id}`)
    yield* run(sql`update jobs set state = 'succeeded', finished_at = ${yield* now} where subject_id = ${id}`)
    return MergeRequestId.make(id)
  })

/** An open merge request with conditions. */
export const conditionedMergeRequest = (tenant: Tenant) =>
  Effect.gen(function* () {
    const id = yield* newMergeRequest(tenant)
    yield* done(tenant.person, "PUT", `/api/merge-requests/${id}/merge-conditions`, { checks: "all" })
    return id
  })

/** A turn that runs in a session of its own, as far as the database knows. */
const runningTurn = (tenant: Pick<Tenant, "ids" | "person">) =>
  Effect.gen(function* () {
    const turns = yield* TurnStore
    const journal = yield* Journal
    const { session } = yield* newSession(tenant, { message: "Do it." })
    const turnId = TurnId.make(textAt(session, "turn_id"))
    for (const to of ["preparing", "running"] as const) yield* journal.commit(turns.move(turnId, to, actor))
    return turnId
  })

/** The thing that the agent of `newInteraction` asks leave for. */
export const askedSubject = sealSubject({ kind: "command", command: "npm test" })

/** Has the agent of a session of its own ask something, as far as the database knows. */
export const newInteraction = (tenant: Pick<Tenant, "ids" | "person">) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const interactions = yield* InteractionStore
    const turnId = yield* runningTurn(tenant)
    const asked = yield* journal.commit(
      interactions.open(turnId, actor, {
        kind: "approval",
        title: "Run the tests",
        description: null,
        subject: askedSubject,
        tool_id: null,
        options: [
          { id: "yes", name: "Allow", kind: "allow_once" },
          { id: "no", name: "Refuse", kind: "reject_once" }
        ],
        form: null,
        url: null,
        default: "no"
      })
    )
    return asked === undefined ? yield* Effect.dieMessage("nothing was asked") : asked.id
  })

/** The call of a function in a turn that runs, as far as the database knows. */
export const newToolCall = (tenant: Pick<Tenant, "ids" | "person">) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const calls = yield* ToolCallStore
    const turnId = yield* runningTurn(tenant)
    const call = {
      kind: "tool_call" as const,
      title: "lookup_ticket",
      description: null,
      options: [],
      form: null,
      tool: { name: "lookup_ticket", input: { ticket: 7 }, call_id: "call-1", attempt: 1 },
      key: turnId,
      deadlineMs: 600_000
    }
    const opened = yield* journal.commit(calls.open(turnId, actor, call))
    return opened === undefined ? yield* Effect.dieMessage("nothing was called") : opened.id
  })

/** A picture that the agent of a turn has published. */
export const newArtifact = (tenant: Pick<Tenant, "ids" | "person">) =>
  Effect.gen(function* () {
    const artifacts = yield* Artifacts
    const { id: sessionId, session } = yield* newSession(tenant, { message: "Do it." })
    const via = {
      kind: "turn" as const,
      sessionId,
      turnId: TurnId.make(textAt(session, "turn_id")),
      providerId: "alpha",
      keyId: null
    }
    const workspaceId = WorkspaceId.make(tenant.ids["workspace_id"] ?? "")
    const agent = { accountId: tenant.person.account.id, scopes: ["read", "write"] as const, workspaceId, via }
    const bytes = Buffer.from("\x89PNG\r\n\x1a\n", "latin1")
    const published = { title: "The page", path: "out/page.png", bytes, key: "one" }
    return (yield* artifacts.publish(agent, published)).id
  })

/** Gives a session an executor that is ready, as its activation would. */
export const readyLease = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const leases = yield* Leases
    yield* journal.commit(leases.allocate(sessionId, actor))
    yield* journal.commit(leases.move(sessionId, "ready", actor, null))
  })

/** Puts a row into a state that only work could bring it to. */
export const setState = (table: "turns" | "deliveries" | "delegations", id: string, state: string) =>
  Effect.flatMap(Database, ({ run, sql }) => run(sql`update ${sql(table)} set state = ${state} where id = ${id}`))

/** A delivery of the first event of a session to a webhook endpoint, which did not get through. */
export const newWebhookDelivery = (endpointId: string, sessionId: SessionId) =>
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const at = yield* now
    const id = yield* newId(WebhookDeliveryId)
    const row = {
      id,
      endpoint_id: endpointId,
      position: 1,
      session_id: sessionId,
      seq: 1,
      event_id: yield* newId(EventId),
      type: "session.created",
      state: "failed",
      attempt_count: 1,
      created_at: at,
      finished_at: at
    }
    yield* run(sql`insert into webhook_deliveries ${sql.insert(row)}`)
    const attempt = { delivery_id: id, ordinal: 1, started_at: at, duration_ms: 12, status: 500, answer: "broken" }
    yield* run(sql`insert into webhook_attempts ${sql.insert({ ...attempt, error: "It was answered with 500." })}`)
    return id
  })
