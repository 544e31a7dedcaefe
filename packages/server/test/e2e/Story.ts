import { tokenFor } from "@reins/testing/process/Outbox"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert } from "vitest"
import { at, itemsOf, textAt, type Visitor } from "./Visitor.js"

/** The surroundings of the service: a model gateway, and a forge with a repository. */
export interface Surroundings {
  readonly dataDir: string
  readonly gatewayUrl: string
  readonly forge: {
    readonly url: string
    readonly repositoryUrl: string
    readonly token: string
    /** True while it turns everybody away. */
    readonly close: (closed: boolean) => void
    readonly read: (ref: string, path: string) => string
  }
}

export interface Ids {
  readonly workspace_id: string
  readonly connection_id: string
  readonly forge_id: string
  readonly project_id: string
  readonly session_id: string
}

const email = "ann@example.com"
const passwords = ["a quiet heron at noon", "a loud heron at dawn", "a third heron at dusk"] as const

const login = async (visitor: Visitor, password: string): Promise<void> => {
  visitor.headers = {}
  const { headers, json } = await visitor.call("POST /api/auth/login", { body: { email, password } })
  const cookie = headers.getSetCookie().map((each) => each.split(";")[0])
  visitor.headers = { cookie: cookie.join("; "), "x-csrf-token": textAt(json, "csrf_token") }
}

/** Somebody registers, verifies, forgets the password, and goes on with an API key. */
export const arrive = async (visitor: Visitor, { dataDir }: Surroundings): Promise<void> => {
  const [first, second, third] = passwords
  await visitor.call("POST /api/auth/register", { body: { email, password: first } })
  const token = await tokenFor(dataDir, email, "verify")
  await visitor.call("POST /api/auth/email-verifications", { body: { token } })
  await login(visitor, first)
  await visitor.call("POST /api/auth/password-changes", { body: { current_password: first, new_password: second } })
  await visitor.call("POST /api/auth/password-resets", { body: { email } })
  const reset = await tokenFor(dataDir, email, "reset")
  await visitor.call("POST /api/auth/password-resets", { body: { token: reset, new_password: third } })
  await login(visitor, third)
  assert.strictEqual(at(await visitor.read("GET /api/me"), "auth.via"), "login")
  const key = await visitor.read("POST /api/api-keys", { body: { name: "story", scopes: ["admin"] } })
  const other = await visitor.read("POST /api/api-keys", { body: { name: "lost", scopes: ["read"] } })
  await visitor.call("DELETE /api/api-keys/{key_id}", { ids: { key_id: textAt(other, "id") } })
  await visitor.call("POST /api/auth/logout")
  visitor.headers = { authorization: `Bearer ${textAt(key, "secret")}` }
  const names = itemsOf(await visitor.read("GET /api/api-keys")).map((item) => at(item, "name"))
  assert.include(names, "story")
}

/** Credentials for the model and the forge are stored, changed, and found good. */
export const connect = async (visitor: Visitor, { forge, gatewayUrl }: Surroundings) => {
  const workspace_id = textAt(await visitor.read("GET /api/me"), "workspaces.0.id")
  const made = async (kind: string, credential: unknown) =>
    textAt(
      await visitor.read("POST /api/workspaces/{workspace_id}/connections", {
        ids: { workspace_id },
        body: { kind, label: kind, credential }
      }),
      "id"
    )
  const connection_id = await made("alpha_gateway", { base_url: gatewayUrl, api_key: "an old key" })
  const forge_id = await made("gitea", { base_url: forge.url, token: forge.token })
  const ids = { connection_id }
  await visitor.call("PATCH /api/connections/{connection_id}", { ids, body: { label: "The gateway" } })
  await visitor.call("POST /api/connections/{connection_id}/credential-versions", {
    ids,
    body: { credential: { base_url: gatewayUrl, api_key: "a new key" } }
  })
  const validation = await visitor.ended(
    await visitor.read("POST /api/connections/{connection_id}/validations", { ids })
  )
  assert.strictEqual(at(validation, "state"), "succeeded")
  const validations = itemsOf(await visitor.read("GET /api/connections/{connection_id}/validations", { ids }))
  assert.strictEqual(at(validations[0], "state"), "passed")
  const found = itemsOf(await visitor.read("GET /api/connections/{connection_id}/capabilities", { ids }))
  assert.isNotEmpty(found)
  const connection = await visitor.read("GET /api/connections/{connection_id}", { ids })
  assert.deepStrictEqual([at(connection, "label"), at(connection, "health")], ["The gateway", "ready"])
  const models = itemsOf(await visitor.read("GET /api/models", { query: { workspace_id } })).map((item) =>
    at(item, "id")
  )
  assert.include(models, "scripted-1")
  assert.strictEqual(itemsOf(await visitor.read("GET /api/harnesses")).length, 6)
  assert.isNotEmpty(itemsOf(await visitor.read("GET /api/executor-backends")))
  return { workspace_id, connection_id, forge_id }
}

/** A project is described, and its description published. */
export const plan = async (
  visitor: Visitor,
  { connection_id, forge_id, workspace_id }: Pick<Ids, "workspace_id" | "connection_id" | "forge_id">,
  { forge }: Surroundings
): Promise<string> => {
  const project = await visitor.read("POST /api/workspaces/{workspace_id}/projects", {
    ids: { workspace_id },
    body: { slug: "shop", name: "Shop" }
  })
  const ids = { project_id: textAt(project, "id") }
  await visitor.call("PATCH /api/projects/{project_id}", { ids, body: { name: "The shop" } })
  const spec = {
    repository: { url: forge.repositoryUrl, base_ref: "main" },
    harness: { provider_id: "alpha", model: "scripted-1" },
    connection_ids: [connection_id, forge_id]
  }
  const version = await visitor.read("POST /api/projects/{project_id}/versions", {
    ids,
    body: { spec, notes: "first" }
  })
  const versions = itemsOf(await visitor.read("GET /api/projects/{project_id}/versions", { ids }))
  assert.deepStrictEqual(versions, [version])
  assert.strictEqual(at(await visitor.read("GET /api/projects/{project_id}", { ids }), "name"), "The shop")
  return ids.project_id
}

/** A real agent works in the project's repository, and its work is sealed. Gives back the changeset. */
export const work = async (visitor: Visitor, { session_id }: Pick<Ids, "session_id">): Promise<string> => {
  const ids = { session_id }
  await visitor.call("PATCH /api/sessions/{session_id}", {
    ids,
    body: { title: "Fix the sum", labels: { team: "shop" } }
  })
  const activation = await visitor.ended(
    await visitor.read("POST /api/sessions/{session_id}/executor/activations", { ids, body: {} })
  )
  assert.strictEqual(at(activation, "state"), "succeeded")
  const executor = await visitor.read("GET /api/sessions/{session_id}/executor", { ids })
  assert.strictEqual(at(executor, "executor.workspace.state") ?? at(executor, "workspace.state"), "ready")
  const sent = await visitor.read("POST /api/sessions/{session_id}/messages", {
    ids,
    body: {
      content: script("Fix it.", { tool: "write", path: "sum.txt", content: "four\n" }, { say: "It is four." })
    }
  })
  const turn_id = textAt(sent, "turn_id")
  await visitor.seen(session_id, turn_id, "turn.succeeded", "turn.failed", "turn.interrupted")
  const turn = await visitor.read("GET /api/turns/{turn_id}", { ids: { turn_id } })
  assert.strictEqual(at(turn, "state"), "succeeded", JSON.stringify(turn))
  const upload = { path: "notes/today.txt", content: "Sums are fixed.\n" }
  await visitor.call("POST /api/sessions/{session_id}/file-uploads", { ids, body: upload })
  const content = await visitor.read("GET /api/sessions/{session_id}/files/content", {
    ids,
    query: { path: upload.path }
  })
  assert.strictEqual(at(content, "content"), upload.content)
  const names = itemsOf(await visitor.read("GET /api/sessions/{session_id}/files", { ids })).map((item) =>
    at(item, "name")
  )
  assert.includeMembers([...names], ["a.txt", "sum.txt", "notes"])
  const changes = await visitor.read("GET /api/sessions/{session_id}/changes", { ids })
  assert.strictEqual(at(changes, "live"), true)
  const capture = await visitor.read("POST /api/sessions/{session_id}/changesets", {
    ids,
    body: { label: "with notes" }
  })
  assert.strictEqual(at(await visitor.ended(capture), "state"), "succeeded")
  const origins = itemsOf(await visitor.read("GET /api/sessions/{session_id}/changesets", { ids })).map((item) =>
    at(item, "origin")
  )
  assert.sameMembers([...origins], ["explicit", "automatic"])
  return textAt(capture, "changeset.id")
}

/** The sealed work is read and applied to another session. */
export const review = async (visitor: Visitor, changeset_id: string, target_session_id: string): Promise<void> => {
  const ids = { changeset_id }
  assert.strictEqual(at(await visitor.read("GET /api/changesets/{changeset_id}", { ids }), "file_count"), 2)
  assert.include(textAt(await visitor.read("GET /api/changesets/{changeset_id}/diff", { ids }), "diff"), "+four")
  const file = await visitor.read("GET /api/changesets/{changeset_id}/files", { ids, query: { path: "sum.txt" } })
  assert.strictEqual(at(file, "content"), "four\n")
  await visitor.ended(
    await visitor.read("POST /api/sessions/{session_id}/executor/activations", {
      ids: { session_id: target_session_id },
      body: {}
    })
  )
  const application = await visitor.ended(
    await visitor.read("POST /api/changesets/{changeset_id}/applications", { ids, body: { target_session_id } })
  )
  assert.strictEqual(at(application, "state"), "succeeded", JSON.stringify(application))
  const applied = await visitor.read("GET /api/sessions/{session_id}/files/content", {
    ids: { session_id: target_session_id },
    query: { path: "sum.txt" }
  })
  assert.strictEqual(at(applied, "content"), "four\n")
}

/** The work reaches the forge, which first turns it away, and becomes a merge request. */
export const deliver = async (
  visitor: Visitor,
  { forge_id, session_id }: Pick<Ids, "forge_id" | "session_id">,
  changeset_id: string,
  { forge }: Surroundings
): Promise<void> => {
  forge.close(true)
  const asked = await visitor.read("POST /api/changesets/{changeset_id}/deliveries", {
    ids: { changeset_id },
    body: { transport: "git_branch", connection_id: forge_id }
  })
  const ids = { delivery_id: textAt(asked, "delivery.id") }
  await visitor.seen(session_id, ids.delivery_id, "delivery.blocked", "delivery.failed", "delivery.succeeded")
  const refused = await visitor.read("GET /api/deliveries/{delivery_id}", { ids })
  assert.deepStrictEqual([at(refused, "state"), at(refused, "reason")], ["blocked", "auth_required"])
  forge.close(false)
  await visitor.ended(await visitor.read("POST /api/deliveries/{delivery_id}/retries", { ids }))
  const delivered = await visitor.read("GET /api/deliveries/{delivery_id}", { ids })
  assert.strictEqual(at(delivered, "state"), "succeeded", JSON.stringify(delivered))
  const branch = textAt(delivered, "target_ref")
  assert.strictEqual(forge.read(branch, "sum.txt"), "four")
  const asking = await visitor.read("POST /api/deliveries/{delivery_id}/merge-requests", {
    ids,
    body: { base_branch: "main", title: "Fix the sum", draft: false }
  })
  assert.strictEqual(at(await visitor.ended(asking), "state"), "succeeded")
  await visitor.ended(await visitor.read("POST /api/deliveries/{delivery_id}/refreshes", { ids }))
  const list = itemsOf(await visitor.read("GET /api/changesets/{changeset_id}/deliveries", { ids: { changeset_id } }))
  assert.deepStrictEqual(
    list.map((item) => at(item, "id")),
    [ids.delivery_id]
  )
}

/** Parts of the work are given to others: one answers by itself, one is answered for, one is called off. */
export const delegate = async (visitor: Visitor, { session_id }: Pick<Ids, "session_id">): Promise<void> => {
  const given = async (role: string, instructions: string) =>
    textAt(
      await visitor.read("POST /api/sessions/{session_id}/delegations", {
        ids: { session_id },
        body: { role, instructions }
      }),
      "delegation.id"
    )
  const reviewer = { delegation_id: await given("reviewer", script("Look at it.", { say: "I looked." })) }
  await visitor.call("POST /api/delegations/{delegation_id}/messages", {
    ids: reviewer,
    body: { content: script("Look again.", { say: "It is good." }) }
  })
  await visitor.seen(session_id, reviewer.delegation_id, "delegation.result_published")
  const waited = await visitor.read("POST /api/delegations/{delegation_id}/waits", { ids: reviewer, body: {} })
  assert.strictEqual(at(waited, "wait.state"), "satisfied")
  const result = await visitor.read("GET /api/delegations/{delegation_id}/result", { ids: reviewer })
  assert.include(textAt(result, "summary"), "It is good.")
  const tester = {
    delegation_id: await given("tester", script("Test it.", { tool: "bash", cmd: "sleep 5" }, { say: "Tested." }))
  }
  await visitor.seen(session_id, tester.delegation_id, "delegation.active")
  await visitor.call("POST /api/delegations/{delegation_id}/result", {
    ids: tester,
    body: { kind: "test", verdict: "passed", summary: "All of it." }
  })
  const idler = { delegation_id: await given("idler", script("Wait.", { hang: true })) }
  await visitor.call("POST /api/delegations/{delegation_id}/cancellations", { ids: idler })
  assert.strictEqual(
    at(await visitor.read("GET /api/delegations/{delegation_id}", { ids: idler }), "state"),
    "cancelled"
  )
  assert.strictEqual(
    itemsOf(await visitor.read("GET /api/sessions/{session_id}/delegations", { ids: { session_id } })).length,
    3
  )
}

/** Everything is ended, and can still be read: the events tell the whole of it. */
export const leave = async (
  visitor: Visitor,
  { connection_id, session_id, workspace_id }: Ids,
  other: string
): Promise<void> => {
  const ids = { session_id }
  const released = await visitor.read("POST /api/sessions/{session_id}/executor/releases", { ids, body: {} })
  assert.strictEqual(at(await visitor.ended(released), "state"), "succeeded")
  const job = await visitor.read("GET /api/jobs/{job_id}", { ids: { job_id: textAt(released, "operation.job_id") } })
  assert.strictEqual(at(job, "attempts.0.state"), "succeeded")
  await visitor.call("POST /api/sessions/{session_id}/archives", { ids: { session_id: other } })
  await visitor.call("POST /api/sessions/{session_id}/closures", { ids })
  const session = await visitor.read("GET /api/sessions/{session_id}", { ids })
  assert.strictEqual(at(session, "lifecycle"), "closed")
  // Work that still runs is told to stop by the closure; its credential is in use until it has.
  await eventually("every session rests", async () => {
    const sessions = await visitor.read("GET /api/workspaces/{workspace_id}/sessions", { ids: { workspace_id } })
    return itemsOf(sessions).every((item) => ["idle", "attention"].includes(textAt(item, "activity")))
  })
  await visitor.call("DELETE /api/connections/{connection_id}", { ids: { connection_id } })
  const events = itemsOf(await visitor.read("GET /api/sessions/{session_id}/events", { ids, query: { limit: "1000" } }))
  assert.deepStrictEqual(
    events.map((event) => at(event, "seq")),
    events.map((_, index) => index + 1)
  )
  assert.strictEqual(events.length, at(session, "event_watermark"))
  const types = new Set(events.map((event) => at(event, "type")))
  const told = ["session.created", "turn.succeeded", "changeset.ready", "delivery.blocked", "delivery.succeeded"]
  for (const type of [...told, "merge_request.opened", "delegation.cancelled", "session.closed"])
    assert.isTrue(types.has(type), type)
}

/** All of it. `agentKeepsState` is true for an agent that has a record of its own. */
export const whole = async (
  visitor: Visitor,
  around: Surroundings,
  { agentKeepsState }: { readonly agentKeepsState: boolean }
): Promise<void> => {
  await arrive(visitor, around)
  const known = await connect(visitor, around)
  const project_id = await plan(visitor, known, around)
  const newSession = async () =>
    textAt(
      await visitor.read("POST /api/workspaces/{workspace_id}/sessions", {
        ids: { workspace_id: known.workspace_id },
        body: { project_id }
      }),
      "id"
    )
  const ids = { ...known, project_id, session_id: await newSession() }
  const other = await newSession()
  const changeset = await work(visitor, ids)
  if (agentKeepsState)
    await visitor.call("GET /api/sessions/{session_id}/native-state", { ids: { session_id: ids.session_id } })
  await review(visitor, changeset, other)
  await deliver(visitor, ids, changeset, around)
  await delegate(visitor, ids)
  await leave(visitor, ids, other)
}
