import { apiVersion } from "@reins/core/Api"
import { HarnessInstallations } from "@reins/core/catalog/HarnessInstallations"
import { Limits } from "@reins/core/catalog/Limits"
import { Models } from "@reins/core/catalog/Models"
import { Providers } from "@reins/core/catalog/Providers"
import { Executors } from "@reins/core/executor/Executors"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Effect } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import type { Handlers } from "./Handlers.js"

export const catalog = Effect.gen(function* () {
  const executors = yield* Executors
  const installations = yield* HarnessInstallations
  const limits = yield* Limits
  const models = yield* Models
  const providers = yield* Providers
  const handlers: Handlers<"catalog"> = {
    listExecutorBackends: () => Effect.map(executors.list, (items) => ({ items })),
    listHarnesses: () => Effect.map(providers.list, (items) => ({ items })),
    installHarness: ({ body, path, principal }) => installations.request(principal, path.workspace_id, body),
    listModels: ({ principal, query }) => models.list(principal, query),
    getLimits: () => Effect.succeed(limits),
    getVersion: () => Effect.succeed({ release: packageJson.version, api_version: apiVersion })
  }
  return handlers
})

export const jobs = Effect.gen(function* () {
  const jobs = yield* Jobs
  const handlers: Handlers<"jobs"> = {
    get: ({ path, principal }) => jobs.get(principal, path.job_id),
    getOperation: ({ path, principal }) => jobs.operation(principal, path.operation_id)
  }
  return handlers
})
