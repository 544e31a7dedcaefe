import { Effect } from "effect"
import { done, type Tenant, textAt } from "./TenantParts.js"

/** The parts of a request that are not the same for every tenant. */
export interface Given {
  /** Path parameters, where they are not those of the tenant. */
  readonly ids?: Readonly<Record<string, string>>
  /** The caller, when it is not the person of the tenant. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export const idOf = (name: string, made: unknown, at = "id"): Given => ({ ids: { [name]: textAt(made, at) } })

export const inWorkspace = (tenant: Tenant, path: string, body: unknown) =>
  done(tenant.person, "POST", `/api/workspaces/${tenant.ids["workspace_id"]}/${path}`, body)

export const nightly = {
  name: "Nightly",
  trigger: { kind: "schedule", expression: "30 2 * * 1-5", timezone: "Europe/Berlin" },
  target: {
    kind: "new_session",
    message: "Update what is outdated, in one change.",
    harness: { provider_id: "alpha", model: "thinker" }
  }
}

/** A hook of the kind of the tenant's forge. */
export const giteaHook = (tenant: Tenant) =>
  Effect.map(inWorkspace(tenant, "hooks", { kind: "gitea", label: "The forge of the shop" }), (hook) =>
    idOf("hook_id", hook)
  )

export const registration = ({ forgeConnectionId }: Tenant) => ({
  connection_id: forgeConnectionId,
  repository: "https://gitea.example/acme/shop.git",
  occasions: ["issues"]
})

export const freshAutomation = (tenant: Tenant) =>
  Effect.map(inWorkspace(tenant, "automations", nightly), (automation) => idOf("automation_id", automation))

export const freshRun = (tenant: Tenant) =>
  Effect.gen(function* () {
    const { ids } = yield* freshAutomation(tenant)
    const run = yield* done(tenant.person, "POST", `/api/automations/${ids?.["automation_id"]}/runs`)
    return idOf("automation_run_id", run)
  })
