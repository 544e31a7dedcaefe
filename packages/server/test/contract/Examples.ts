import { Effect } from "effect"
import { newGrant } from "../doors/OauthPerson.js"
import { newCaller, newKey, password } from "../Service.js"
import { proposed } from "./CareParts.js"
import { fill, type Operation } from "./Document.js"
import {
  freshAutomation,
  freshRun,
  type Given,
  giteaHook,
  idOf,
  inWorkspace,
  nightly,
  registration
} from "./ExampleParts.js"
import {
  addOwner,
  address,
  browser,
  freshDelegation,
  freshDelivery,
  freshProject,
  freshSession,
  freshTurn,
  freshWorkspace,
  furnished,
  withLink,
  workspaceName
} from "./Fresh.js"
import {
  askedSubject,
  conditionedMergeRequest,
  done,
  fileOfWorkspaces,
  Gateway,
  headSha,
  newArtifact,
  newBranch,
  newInteraction,
  newLogin,
  newMergeRequest,
  newSession,
  newToolCall,
  readyLease,
  type Tenant,
  textAt
} from "./TenantParts.js"

/** A request that has to succeed, once. */
export interface Example {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

const only = (body: unknown) => (): Effect.Effect<Given> => Effect.sync(() => ({ body }))
const nothing = (): Effect.Effect<Given> => Effect.succeed({})

/** One valid request for each mutation of the API and for the reads that need more than its ids, with whatever has to be there before it. */
const examples = {
  "POST /api/auth/register": () => Effect.sync(() => ({ body: { email: address(), password } })),
  "POST /api/auth/login": ({ person }: Tenant) => Effect.succeed({ body: { email: person.email, password } }),
  "POST /api/auth/logout": nothing,
  "POST /api/auth/email-verifications": () => Effect.sync(() => ({ body: { email: address() } })),
  "POST /api/auth/password-changes": () =>
    Effect.map(newCaller(), ({ bearer }) => ({
      headers: bearer,
      body: { current_password: password, new_password: "a loud heron at dawn" }
    })),
  "POST /api/auth/password-resets": () => Effect.sync(() => ({ body: { email: address() } })),
  "POST /api/api-keys": only({ name: "another", scopes: ["read"] }),
  "PATCH /api/api-keys/{key_id}": ({ person }: Tenant) =>
    Effect.map(done(person, "POST", "/api/api-keys", { name: "thrifty" }), (key) => ({
      ...idOf("key_id", key),
      body: { budget: { max_tokens: 1_000_000 } }
    })),
  "DELETE /api/api-keys/{key_id}": ({ person }: Tenant) =>
    Effect.map(done(person, "POST", "/api/api-keys", { name: "old" }), (key) => idOf("key_id", key)),
  "DELETE /api/oauth-grants/{oauth_grant_id}": ({ person }: Tenant) =>
    Effect.map(newGrant(person), (oauth_grant_id) => ({ ids: { oauth_grant_id } })),
  "POST /api/auth/account-deletions": () =>
    Effect.map(newCaller(), ({ bearer }) => ({ headers: bearer, body: { password } })),
  "DELETE /api/workspaces/{workspace_id}": freshWorkspace,
  "GET /api/workspaces/{workspace_id}/deletion": (tenant: Tenant) =>
    Effect.tap(freshWorkspace(tenant), ({ ids }) =>
      done(tenant.person, "DELETE", `/api/workspaces/${ids?.["workspace_id"]}?confirm=${workspaceName}`)
    ),
  "DELETE /api/projects/{project_id}": freshProject,
  "GET /api/projects/{project_id}/deletion": (tenant: Tenant) =>
    Effect.tap(freshProject(tenant), ({ ids }) =>
      done(tenant.person, "DELETE", `/api/projects/${ids?.["project_id"]}`)
    ),
  "POST /api/workspaces": only({ name: "Payments" }),
  "PATCH /api/workspaces/{workspace_id}": only({ budget: { max_tokens: 1_000_000_000 } }),
  "POST /api/workspaces/{workspace_id}/leave": (tenant: Tenant) =>
    Effect.gen(function* () {
      const made = yield* done(tenant.person, "POST", "/api/workspaces", { name: "Payments" })
      yield* addOwner(textAt(made, "id"))
      return idOf("workspace_id", made)
    }),
  "POST /api/workspaces/{workspace_id}/members": () =>
    Effect.sync(() => ({ body: { email: address(), role: "viewer" } })),
  "DELETE /api/workspaces/{workspace_id}/members/{account_id}": (tenant: Tenant) =>
    Effect.map(inWorkspace(tenant, "members", { email: address(), role: "viewer" }), (member) => ({
      ids: { account_id: textAt(member, "id") }
    })),
  "POST /api/workspaces/{workspace_id}/connections": only({
    kind: "github",
    label: "forge",
    credential: { token: "canary-hub-token" }
  }),
  "PATCH /api/connections/{connection_id}": only({ label: "renamed" }),
  "DELETE /api/connections/{connection_id}": (tenant: Tenant) =>
    Effect.map(
      inWorkspace(tenant, "connections", { kind: "gitlab", label: "old", credential: { token: "canary-lab-token" } }),
      (connection) => idOf("connection_id", connection)
    ),
  "POST /api/connections/{connection_id}/credential-versions": only({
    credential: { base_url: "https://gateway.example/v1", api_key: "canary-second-key" }
  }),
  "POST /api/connections/{connection_id}/validations": nothing,
  "POST /api/workspaces/{workspace_id}/connection-logins": () =>
    Effect.map(Gateway, ({ url }) => ({ body: { server_url: new URL("/mcp", url).href, label: "Issues" } })),
  "POST /api/connection-logins/{connection_login_id}/answers": (tenant: Tenant) =>
    Effect.map(newLogin(tenant), ({ connection_login_id, state }) => ({
      ids: { connection_login_id },
      body: { state, error: "access_denied" }
    })),
  "POST /api/workspaces/{workspace_id}/automations": only(nightly),
  "POST /api/workspaces/{workspace_id}/automation-previews": only({
    events: ["issues"],
    filter: [{ pointer: "/label/name", is: "reins" }],
    pick: ["/issue/title"],
    closes: "/issue/number",
    event: "issues",
    body: { label: { name: "reins" }, issue: { number: 12, title: "The total is wrong" } }
  }),
  "PATCH /api/automations/{automation_id}": only({ name: "Each night", overlap: "queue" }),
  "DELETE /api/automations/{automation_id}": freshAutomation,
  "POST /api/automations/{automation_id}/pauses": (tenant: Tenant) =>
    Effect.map(freshAutomation(tenant), (given) => ({ ...given, body: { reason: "The team is away." } })),
  "POST /api/automations/{automation_id}/resumptions": (tenant: Tenant) =>
    Effect.tap(freshAutomation(tenant), ({ ids }) =>
      done(tenant.person, "POST", `/api/automations/${ids?.["automation_id"]}/pauses`, {})
    ),
  "POST /api/automations/{automation_id}/runs": freshAutomation,
  "POST /api/automation-runs/{automation_run_id}/cancellations": freshRun,
  "POST /api/automation-runs/{automation_run_id}/retries": (tenant: Tenant) =>
    Effect.tap(freshRun(tenant), ({ ids }) =>
      done(tenant.person, "POST", `/api/automation-runs/${ids?.["automation_run_id"]}/cancellations`)
    ),
  "PATCH /api/me": ({ person }: Tenant) =>
    Effect.succeed({ body: { git: { name: "Ann Miller", email: person.email } } }),
  "POST /api/workspaces/{workspace_id}/signing-keys": nothing,
  "DELETE /api/signing-keys/{signing_key_id}": (tenant: Tenant) =>
    Effect.map(inWorkspace(tenant, "signing-keys", {}), (key) => idOf("signing_key_id", key)),
  "POST /api/workspaces/{workspace_id}/hooks": only({ kind: "github", label: "The forge of the shop" }),
  "PATCH /api/hooks/{hook_id}": only({ label: "renamed" }),
  "DELETE /api/hooks/{hook_id}": (tenant: Tenant) =>
    Effect.map(inWorkspace(tenant, "hooks", { kind: "token", label: "old" }), (hook) => idOf("hook_id", hook)),
  "POST /api/hooks/{hook_id}/secret-rotations": only({ overlap_seconds: 3600 }),
  "POST /api/hooks/{hook_id}/registrations": (tenant: Tenant) =>
    Effect.map(giteaHook(tenant), (given) => ({ ...given, body: registration(tenant) })),
  "DELETE /api/hooks/{hook_id}/registrations": (tenant: Tenant) =>
    Effect.tap(giteaHook(tenant), ({ ids }) =>
      done(tenant.person, "POST", `/api/hooks/${ids?.["hook_id"]}/registrations`, registration(tenant))
    ),
  "POST /api/hook-receipts/{hook_receipt_id}/replays": nothing,
  "POST /api/workspaces/{workspace_id}/webhook-endpoints": only({
    url: "https://hooks.example/other",
    types: ["turn.action_required", "delivery.*"]
  }),
  "PATCH /api/webhook-endpoints/{webhook_endpoint_id}": only({ description: "The bot of the team.", label: "team=a" }),
  "DELETE /api/webhook-endpoints/{webhook_endpoint_id}": (tenant: Tenant) =>
    Effect.map(inWorkspace(tenant, "webhook-endpoints", { url: "https://hooks.example/old" }), (endpoint) =>
      idOf("webhook_endpoint_id", endpoint)
    ),
  "POST /api/webhook-endpoints/{webhook_endpoint_id}/secret-rotations": only({ overlap_seconds: 3600 }),
  "POST /api/webhook-endpoints/{webhook_endpoint_id}/tests": nothing,
  "POST /api/webhook-endpoints/{webhook_endpoint_id}/retries": only({ since: "2026-01-01T00:00:00.000Z" }),
  "POST /api/webhook-deliveries/{webhook_delivery_id}/retries": nothing,
  "PUT /api/sessions/{session_id}/seen": only({ seq: 1 }),
  "DELETE /api/sessions/{session_id}/seen": nothing,
  "POST /api/workspaces/{workspace_id}/push-subscriptions": only(browser("first")),
  "DELETE /api/push-subscriptions/{push_subscription_id}": (tenant: Tenant) =>
    Effect.map(inWorkspace(tenant, "push-subscriptions", browser("second")), (made) =>
      idOf("push_subscription_id", made)
    ),
  "POST /api/workspaces/{workspace_id}/harness-installations": only({ provider_id: "alpha" }),
  "POST /api/workspaces/{workspace_id}/projects": () =>
    Effect.sync(() => ({ body: { slug: `p-${newKey().slice(5, 20).replaceAll(/\W/g, "-")}`, name: "Another" } })),
  "PATCH /api/projects/{project_id}": only({ name: "Renamed" }),
  "POST /api/projects/{project_id}/mcp-checks": only({}),
  "POST /api/projects/{project_id}/versions": only({
    spec: { harness: { provider_id: "alpha", model: "thinker" } },
    notes: "Thinks."
  }),
  "POST /api/projects/{project_id}/skills": only({
    files: [
      {
        path: "SKILL.md",
        content: "---\nname: release-notes\ndescription: Writes the notes of a release.\n---\n\nRead the log first.\n"
      },
      { path: "bin/log.sh", content: "#!/bin/sh\ngit log --oneline\n", executable: true }
    ]
  }),
  "PUT /api/projects/{project_id}/secrets/{name}": () =>
    Effect.succeed({ ids: { name: "registry-token" }, body: { secret: "canary-registry-token" } }),
  "DELETE /api/projects/{project_id}/secrets/{name}": (tenant: Tenant) => {
    const path = `/api/projects/${tenant.ids["project_id"]}/secrets/registry-token`
    return Effect.as(done(tenant.person, "PUT", path, { secret: "canary-registry-token" }), {
      ids: { name: "registry-token" }
    })
  },
  "POST /api/workspaces/{workspace_id}/sessions": only({ title: "Another", message: "Begin." }),
  "PATCH /api/sessions/{session_id}": only({ title: "Renamed", labels: { team: "a" } }),
  "POST /api/sessions/{session_id}/archives": freshSession,
  "POST /api/sessions/{session_id}/unarchives": (tenant: Tenant) =>
    Effect.gen(function* () {
      const { id } = yield* newSession(tenant)
      yield* done(tenant.person, "POST", `/api/sessions/${id}/archives`)
      return { ids: { session_id: id } }
    }),
  "POST /api/sessions/{session_id}/closures": freshSession,
  "DELETE /api/sessions/{session_id}": freshSession,
  "GET /api/sessions/{session_id}/deletion": (tenant: Tenant) =>
    Effect.gen(function* () {
      const { id } = yield* newSession(tenant)
      yield* done(tenant.person, "DELETE", `/api/sessions/${id}`)
      return { ids: { session_id: id } }
    }),
  "POST /api/sessions/{session_id}/shares": only({
    includes: ["changes", "tools"],
    expires_at: "2999-01-01T00:00:00.000Z"
  }),
  "DELETE /api/artifacts/{artifact_id}": (tenant: Tenant) =>
    Effect.map(newArtifact(tenant), (id) => ({ ids: { artifact_id: id } })),
  "DELETE /api/shares/{share_id}": (tenant: Tenant) =>
    Effect.map(done(tenant.person, "POST", `/api/sessions/${tenant.ids["session_id"]}/shares`), (made) =>
      idOf("share_id", made)
    ),
  "GET /api/shared/session": withLink,
  "GET /api/shared/messages": withLink,
  "GET /api/shared/changesets": withLink,
  "GET /api/shared/changesets/{changeset_id}/diff": withLink,
  "GET /api/shared/watermark": withLink,
  "POST /api/sessions/{session_id}/changesets": (tenant: Tenant) =>
    Effect.map(furnished(tenant), (given) => ({ ...given, body: { label: "now" } })),
  "POST /api/sessions/{session_id}/delegations": (tenant: Tenant) =>
    Effect.map(freshSession(tenant), (given) => ({
      ...given,
      body: { role: "reviewer", instructions: "Review it.", result_schema: { type: "object" }, deadline_seconds: 600 }
    })),
  "POST /api/sessions/{session_id}/executor/activations": (tenant: Tenant) =>
    Effect.map(freshSession(tenant), (given) => ({ ...given, body: {} })),
  "POST /api/sessions/{session_id}/executor/releases": (tenant: Tenant) =>
    Effect.gen(function* () {
      const { id } = yield* newSession(tenant)
      yield* done(tenant.person, "POST", `/api/sessions/${id}/executor/activations`)
      yield* readyLease(id)
      return { ids: { session_id: id }, body: { force: false } }
    }),
  "POST /api/sessions/{session_id}/file-uploads": (tenant: Tenant) =>
    Effect.map(furnished(tenant), (given) => ({ ...given, body: { path: "a/b.txt", content: "hello" } })),
  "POST /api/sessions/{session_id}/harness-switches": only({
    harness: { provider_id: "beta" },
    summary: "The thing is half done."
  }),
  "POST /api/sessions/{session_id}/messages": (tenant: Tenant) =>
    Effect.map(freshSession(tenant), (given) => ({ ...given, body: { content: "Go on." } })),
  "PATCH /api/turns/{turn_id}": (tenant: Tenant) =>
    Effect.map(freshTurn(tenant, "queued"), (given) => ({ ...given, body: { budget: { max_tokens: 200_000 } } })),
  "POST /api/turns/{turn_id}/cancellations": (tenant: Tenant) => freshTurn(tenant, "queued"),
  "POST /api/turns/{turn_id}/retries": (tenant: Tenant) => freshTurn(tenant, "failed"),
  "POST /api/turns/{turn_id}/acknowledgements": (tenant: Tenant) => freshTurn(tenant, "interrupted"),
  "POST /api/interactions/{interaction_id}/answers": (tenant: Tenant) =>
    Effect.map(newInteraction(tenant), (id) => ({
      ids: { interaction_id: id },
      body: { answer: "yes", seen: askedSubject.digest }
    })),
  "POST /api/interactions/{interaction_id}/claims": (tenant: Tenant) =>
    Effect.map(newToolCall(tenant), (id) => ({
      ids: { interaction_id: id },
      body: { holder: "worker 1", seconds: 60 }
    })),
  "POST /api/changesets/{changeset_id}/deliveries": () =>
    Effect.sync(() => ({ body: { transport: "patch", target_ref: newKey(), title: "The thing" } })),
  "POST /api/changesets/{changeset_id}/applications": (tenant: Tenant) =>
    Effect.map(furnished(tenant), ({ ids }) => ({ body: { target_session_id: ids.session_id, dry_run: true } })),
  "POST /api/deliveries/{delivery_id}/retries": (tenant: Tenant) => freshDelivery(tenant, "failed"),
  "POST /api/deliveries/{delivery_id}/refreshes": (tenant: Tenant) => freshDelivery(tenant, "blocked"),
  "POST /api/deliveries/{delivery_id}/cancellations": (tenant: Tenant) => freshDelivery(tenant, "pending"),
  "POST /api/deliveries/{delivery_id}/merge-requests": (tenant: Tenant) =>
    Effect.map(newBranch(tenant), (id) => ({ ids: { delivery_id: id }, body: { base_branch: "main", draft: false } })),
  "PUT /api/merge-requests/{merge_request_id}/care": (tenant: Tenant) =>
    Effect.map(newMergeRequest(tenant), (id) => ({
      ids: { merge_request_id: id },
      body: { checks: "fix", reviews: "propose", max_turns: 3 }
    })),
  "DELETE /api/merge-requests/{merge_request_id}/care": (tenant: Tenant) =>
    Effect.map(proposed(tenant), (ids) => ({ ids })),
  "POST /api/merge-requests/{merge_request_id}/reruns": (tenant: Tenant) =>
    Effect.map(proposed(tenant), (ids) => ({ ids, body: { check_ids: [ids.check_id] } })),
  "POST /api/merge-requests/{merge_request_id}/readiness": (tenant: Tenant) =>
    Effect.map(newMergeRequest(tenant), (id) => ({ ids: { merge_request_id: id }, body: { draft: false } })),
  "POST /api/merge-requests/{merge_request_id}/replies": (tenant: Tenant) =>
    Effect.map(newMergeRequest(tenant), (id) => ({
      ids: { merge_request_id: id },
      body: { text: "Good point. It is a float now." }
    })),
  "POST /api/attentions/{attention_id}/deliveries": (tenant: Tenant) =>
    Effect.map(proposed(tenant), (ids) => ({ ids })),
  "POST /api/merge-requests/{merge_request_id}/looks": (tenant: Tenant) =>
    Effect.map(newMergeRequest(tenant), (id) => ({ ids: { merge_request_id: id } })),
  "PUT /api/merge-requests/{merge_request_id}/merge-conditions": (tenant: Tenant) =>
    Effect.map(newMergeRequest(tenant), (id) => ({
      ids: { merge_request_id: id },
      body: { checks: "required", approvals: 1, verdict: { from: "member" }, max_wait_seconds: 86400 }
    })),
  "DELETE /api/merge-requests/{merge_request_id}/merge-conditions": (tenant: Tenant) =>
    Effect.map(conditionedMergeRequest(tenant), (id) => ({ ids: { merge_request_id: id } })),
  "POST /api/changesets/{changeset_id}/verdicts": () =>
    Effect.succeed({ body: { verdict: "approve", note: "Every case has a test." } }),
  "POST /api/merge-requests/{merge_request_id}/merges": (tenant: Tenant) =>
    Effect.map(newMergeRequest(tenant), (id) => ({
      ids: { merge_request_id: id },
      body: { expected_head_sha: headSha }
    })),
  "POST /api/delegations/{delegation_id}/cancellations": (tenant: Tenant) => freshDelegation(tenant, "pending"),
  "POST /api/delegations/{delegation_id}/messages": (tenant: Tenant) =>
    Effect.map(freshDelegation(tenant, "active"), (given) => ({ ...given, body: { content: "Hurry." } })),
  "POST /api/delegations/{delegation_id}/result": (tenant: Tenant) =>
    Effect.map(freshDelegation(tenant, "active"), (given) => ({
      ...given,
      body: { kind: "generic", summary: "It works.", value: { passed: 3 } }
    })),
  "GET /api/delegations/{delegation_id}/result": (tenant: Tenant) =>
    Effect.gen(function* () {
      const { ids } = yield* freshDelegation(tenant, "active")
      yield* done(tenant.person, "POST", `/api/delegations/${ids.delegation_id}/result`, {
        kind: "review",
        verdict: "approved",
        summary: "It is good."
      })
      return { ids }
    }),
  "POST /api/delegations/{delegation_id}/waits": (tenant: Tenant) =>
    Effect.map(freshDelegation(tenant, "active"), (given) => ({ ...given, body: { timeout_seconds: 0 } }))
} as const

type Requirements = {
  [Name in keyof typeof examples]: Effect.Effect.Context<ReturnType<(typeof examples)[Name]>>
}[keyof typeof examples]

type Build = (tenant: Tenant) => Effect.Effect<Given, unknown, Requirements>

const builders: Readonly<Record<string, Build>> = examples

export const hasExample = (operation: Operation): boolean => operation.name in builders

/** A valid request for an operation; a read needs nothing but the tenant. */
export const exampleOf = (operation: Operation, tenant: Tenant): Effect.Effect<Example, never, Requirements> =>
  Effect.gen(function* () {
    const build = builders[operation.name]
    if (build === undefined && operation.method !== "GET") {
      return yield* Effect.dieMessage(`there is no example of ${operation.name}`)
    }
    const { body, headers, ids }: Given = build === undefined ? {} : yield* Effect.orDie(build(tenant))
    return {
      path: fill(operation.path, { ...tenant.ids, ...ids }) + requiredQuery(operation),
      headers: headers ?? (operation.security.length === 0 ? {} : tenant.person.bearer),
      ...(body !== undefined && { body })
    }
  })

const queries: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "GET /api/sessions/{session_id}/files/content": { path: fileOfWorkspaces },
  "GET /api/workspaces/{workspace_id}/automation-previews": { expression: "30 2 * * 1-5", timezone: "Europe/Berlin" },
  "GET /api/workspaces/{workspace_id}/repository": { url: "https://git.example/acme/shop.git" },
  "GET /api/workspaces/{workspace_id}/retention-preview": { sessions_days: "90" },
  "DELETE /api/workspaces/{workspace_id}": { confirm: workspaceName }
}

const requiredQuery = ({ name }: Operation): string =>
  queries[name] === undefined ? "" : `?${new URLSearchParams(queries[name])}`
