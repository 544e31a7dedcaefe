import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { systemActor } from "@reins/core/access/Access"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { treeCapture } from "@reins/core/changes/Capture"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import {
  ApplicationId,
  ChangesetId,
  ConnectionId,
  DeliveryId,
  EventId,
  MergeRequestId,
  newId,
  SessionId,
  TurnId,
  WebhookDeliveryId,
  WorkspaceId
} from "@reins/core/domain/Ids"
import { now } from "@reins/core/domain/Timestamp"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { ToolCallStore } from "@reins/core/sessions/questions/ToolCallStore"
import { SessionStore } from "@reins/core/sessions/SessionStore"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Leases } from "@reins/core/worktrees/Leases"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { json, localServer } from "@reins/testing/connections/LocalServer"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Context, Effect, Layer, Schema } from "effect"
import { change, newCaller, send } from "../Service.js"
import { caredFor } from "./CaredFor.js"
import type { Json } from "./Document.js"

const actor = systemActor("test")

/** A model gateway that every connection of the kind alpha_gateway leads to. The service has to allow `127.0.0.1`. */
export class Gateway extends Context.Tag("@reins/server/test/contract/Gateway")<Gateway, { readonly url: string }>() {
  static readonly layer = Layer.scoped(
    Gateway,
    localServer((_, response) =>
      json(response, 200, { object: "list", data: [{ id: "thinker", object: "model" }] })
    ).pipe(Effect.map(({ url }) => ({ url: `${url}/v1` })))
  )
}

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

const sealedChangeset = (sessionId: SessionId) =>
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

/** Has the agent of a session of its own ask something, as far as the database knows. */
export const newInteraction = (tenant: Pick<Tenant, "ids" | "person">) =>
  Effect.gen(function* () {
    const turns = yield* TurnStore
    const journal = yield* Journal
    const interactions = yield* InteractionStore
    const { session } = yield* newSession(tenant, { message: "Do it." })
    const turnId = TurnId.make(textAt(session, "turn_id"))
    for (const to of ["preparing", "running"] as const) yield* journal.commit(turns.move(turnId, to, actor))
    const asked = yield* journal.commit(
      interactions.open(turnId, actor, {
        kind: "approval",
        title: "Run the tests",
        description: null,
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
    const turns = yield* TurnStore
    const journal = yield* Journal
    const calls = yield* ToolCallStore
    const { session } = yield* newSession(tenant, { message: "Do it." })
    const turnId = TurnId.make(textAt(session, "turn_id"))
    for (const to of ["preparing", "running"] as const) yield* journal.commit(turns.move(turnId, to, actor))
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
const newWebhookDelivery = (endpointId: string, sessionId: SessionId) =>
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

export const newTenant = Effect.gen(function* () {
  const person = yield* newCaller()
  const { json: list } = yield* send("GET", "/api/workspaces", { headers: person.bearer })
  const workspaceId = textAt(list, "items.0.id")
  const workspace = `/api/workspaces/${workspaceId}`
  const gateway = yield* done(person, "POST", `${workspace}/connections`, {
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: (yield* Gateway).url, api_key: "canary-gateway-key" }
  })
  yield* done(person, "PATCH", `/api/connections/${textAt(gateway, "id")}`, { preferred_model: "thinker" })
  const forge = yield* done(person, "POST", `${workspace}/connections`, {
    kind: "gitea",
    label: "forge",
    credential: { base_url: "https://gitea.example", token: "canary-forge-token" }
  })
  const key = yield* done(person, "POST", "/api/api-keys", { name: "spare" })
  const invited = yield* done(person, "POST", `${workspace}/members`, {
    email: `guest-of-${person.email}`,
    role: "viewer"
  })
  const project = yield* done(person, "POST", `${workspace}/projects`, {
    slug: "thing",
    name: "Thing",
    spec: { harness: { provider_id: "alpha" } }
  })
  const projectId = textAt(project, "id")
  const versions = yield* send("GET", `/api/projects/${projectId}/versions`, { headers: person.bearer })
  const { id: sessionId } = yield* newSession({ person, ids: { workspace_id: workspaceId } }, { title: "test" })
  yield* furnish(sessionId)
  const changesetId = yield* sealedChangeset(sessionId)
  const uploaded = yield* done(person, "POST", `/api/sessions/${sessionId}/file-uploads`, {
    path: "a.txt",
    content: "a"
  })
  const uploadId = textAt(uploaded, "upload_id")
  const sent = yield* done(person, "POST", `/api/sessions/${sessionId}/messages`, {
    content: "Do the thing.",
    attachments: [uploadId]
  })
  const delivery = yield* done(person, "POST", `/api/changesets/${changesetId}/deliveries`, { transport: "patch" })
  const { id: targetId } = yield* newSession({ person, ids: { workspace_id: workspaceId } })
  yield* furnish(targetId)
  const application = yield* done(person, "POST", `/api/changesets/${changesetId}/applications`, {
    target_session_id: targetId
  })
  const delegated = yield* done(person, "POST", `/api/sessions/${sessionId}/delegations`, {
    role: "reviewer",
    instructions: "Review the thing."
  })
  const tenant: Tenant = {
    person,
    projectVersionId: textAt(versions.json, "items.0.id"),
    forgeConnectionId: ConnectionId.make(textAt(forge, "id")),
    uploadId,
    ids: {
      workspace_id: workspaceId,
      account_id: textAt(invited, "id"),
      key_id: textAt(key, "id"),
      connection_id: textAt(gateway, "id"),
      project_id: projectId,
      session_id: sessionId,
      turn_id: textAt(sent, "turn_id"),
      job_id: textAt(sent, "operation.job_id"),
      operation_id: textAt(sent, "operation.id"),
      changeset_id: changesetId,
      delivery_id: textAt(delivery, "delivery.id"),
      application_id: ApplicationId.make(textAt(application, "application.id")),
      delegation_id: textAt(delegated, "delegation.id")
    }
  }
  const endpoint = yield* done(person, "POST", `${workspace}/webhook-endpoints`, { url: "https://hooks.example/reins" })
  const endpointId = textAt(endpoint, "id")
  const automation = yield* done(person, "POST", `${workspace}/automations`, {
    name: "Nightly",
    trigger: { kind: "schedule", expression: "30 2 * * *", timezone: "Europe/Berlin" },
    target: {
      kind: "new_session",
      message: "Look for what is outdated.",
      harness: { provider_id: "alpha", model: "thinker" }
    }
  })
  const automationId = textAt(automation, "id")
  const run = yield* done(person, "POST", `/api/automations/${automationId}/runs`)
  const browser = yield* done(person, "POST", `${workspace}/push-subscriptions`, {
    endpoint: "https://push.example/send/tenant",
    p256dh: "BDI34BVOWriNdYDYsUouJtHbwE9EOkx4NZCRXREnek_6ByK8jpgJ6QYk2ctUuZ2XNOrwAXX3zFQdnujsuUojqE8",
    auth: "A".repeat(22)
  })
  const hook = yield* done(person, "POST", `${workspace}/hooks`, { kind: "token", label: "hook" })
  const called = yield* send("POST", textAt(hook, "path"), {
    headers: { authorization: `Bearer ${textAt(hook, "secret")}` },
    body: { ref: "refs/heads/main" }
  })
  const more = {
    push_subscription_id: textAt(browser, "id"),
    automation_id: automationId,
    automation_run_id: textAt(run, "id"),
    hook_id: textAt(hook, "id"),
    hook_receipt_id: textAt(called.json, "receipt_id"),
    webhook_endpoint_id: endpointId,
    webhook_delivery_id: yield* newWebhookDelivery(endpointId, sessionId),
    merge_request_id: yield* newMergeRequest(tenant),
    interaction_id: yield* newInteraction(tenant),
    artifact_id: yield* newArtifact(tenant)
  }
  const cared = yield* caredFor({
    mergeRequestId: more.merge_request_id,
    sessionId,
    changesetId: tenant.ids["changeset_id"] ?? "",
    accountId: person.account.id,
    headSha
  })
  const share = textAt(yield* done(person, "POST", `/api/sessions/${sessionId}/shares`), "id")
  const signingKey = textAt(yield* done(person, "POST", `${workspace}/signing-keys`), "id")
  return {
    ...tenant,
    ids: { ...tenant.ids, ...more, ...cared, share_id: share, signing_key_id: signingKey }
  } satisfies Tenant
}).pipe(Effect.orDie)
