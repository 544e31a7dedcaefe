import { ApplicationId, ConnectionId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { newGrant } from "../doors/OauthPerson.js"
import { newCaller, send } from "../Service.js"
import { caredFor } from "./CaredFor.js"
import {
  done,
  furnish,
  Gateway,
  headSha,
  newArtifact,
  newInteraction,
  newLogin,
  newMergeRequest,
  newSession,
  newWebhookDelivery,
  sealedChangeset,
  type Tenant,
  textAt
} from "./TenantParts.js"

/** An account with one of every resource, made without any agent. */
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
    oauth_grant_id: yield* newGrant(person),
    push_subscription_id: textAt(browser, "id"),
    automation_id: automationId,
    automation_run_id: textAt(run, "id"),
    hook_id: textAt(hook, "id"),
    hook_receipt_id: textAt(called.json, "receipt_id"),
    webhook_endpoint_id: endpointId,
    webhook_delivery_id: yield* newWebhookDelivery(endpointId, sessionId),
    merge_request_id: yield* newMergeRequest(tenant),
    interaction_id: yield* newInteraction(tenant),
    artifact_id: yield* newArtifact(tenant),
    connection_login_id: (yield* newLogin(tenant)).connection_login_id
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
