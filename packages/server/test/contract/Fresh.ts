import { Database } from "@reins/core/store/Database"
import { Effect } from "effect"
import { newCaller, newKey } from "../Service.js"
import { idOf, inWorkspace } from "./ExampleParts.js"
import { done, furnish, newSession, setState, type Tenant, textAt } from "./TenantParts.js"

export const workspaceName = "Payments"

export const freshWorkspace = (tenant: Tenant) =>
  Effect.map(done(tenant.person, "POST", "/api/workspaces", { name: workspaceName }), (made) =>
    idOf("workspace_id", made)
  )

export const freshProject = (tenant: Tenant) =>
  Effect.map(
    inWorkspace(tenant, "projects", { slug: `p-${newKey().slice(5, 20).replaceAll(/\W/g, "-")}`, name: "Old" }),
    (made) => idOf("project_id", made)
  )

/** Makes somebody else an owner of a workspace. */
export const addOwner = (workspace_id: string) =>
  Effect.gen(function* () {
    const { account } = yield* newCaller()
    const { run, sql } = yield* Database
    const row = { workspace_id, account_id: account.id, role: "owner", created_at: account.created_at }
    yield* run(sql`insert into workspace_members ${sql.insert(row)}`)
  })

export const address = () => `${newKey()}@example.com`

export const freshSession = (tenant: Tenant) =>
  Effect.map(newSession(tenant), ({ session }) => idOf("session_id", session))

export const freshTurn = (tenant: Tenant, state: string) =>
  Effect.gen(function* () {
    const { session } = yield* newSession(tenant, { message: "Do it." })
    const id = textAt(session, "turn_id")
    yield* setState("turns", id, state)
    return { ids: { turn_id: id } }
  })

export const freshDelivery = (tenant: Tenant, state: string) =>
  Effect.gen(function* () {
    const path = `/api/changesets/${tenant.ids["changeset_id"]}/deliveries`
    const id = textAt(
      yield* done(tenant.person, "POST", path, { transport: "patch", target_ref: newKey() }),
      "delivery.id"
    )
    yield* setState("deliveries", id, state)
    return { ids: { delivery_id: id } }
  })

/** A delegation of a session of its own, since few of one session may live at once. */
export const freshDelegation = (tenant: Tenant, state: string) =>
  Effect.gen(function* () {
    const { id } = yield* newSession(tenant)
    const made = yield* done(tenant.person, "POST", `/api/sessions/${id}/delegations`, {
      role: "tester",
      instructions: "Test the thing."
    })
    const delegation = textAt(made, "delegation.id")
    yield* setState("delegations", delegation, state)
    return { ids: { delegation_id: delegation } }
  })

/** A browser at a push service, which is never asked here. */
export const browser = (name: string) => ({
  endpoint: `https://push.example/send/${name}`,
  p256dh: "BDI34BVOWriNdYDYsUouJtHbwE9EOkx4NZCRXREnek_6ByK8jpgJ6QYk2ctUuZ2XNOrwAXX3zFQdnujsuUojqE8",
  auth: "A".repeat(22)
})

/** The token of a link to the session of the tenant, and nothing else. */
export const withLink = (tenant: Tenant) =>
  Effect.map(done(tenant.person, "POST", `/api/sessions/${tenant.ids["session_id"]}/shares`), (made) => ({
    headers: { authorization: `Bearer ${textAt(made, "token")}` }
  }))

export const furnished = (tenant: Tenant) =>
  Effect.gen(function* () {
    const { id } = yield* newSession(tenant)
    yield* furnish(id)
    return { ids: { session_id: id } }
  })
