import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Executors } from "@reins/machine/executor/Executors"
import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { CatalogApi } from "./CatalogApi.js"
import type { operationErrors } from "./Errors.js"
import { HarnessInstallations } from "./HarnessInstallations.js"
import { LimitsInForce } from "./Limits.js"
import { Models } from "./Models.js"
import { Providers } from "./Providers.js"

export const catalog = Effect.gen(function* () {
  const { agentsBy } = yield* CoreConfig
  const executors = yield* Executors
  const installations = yield* HarnessInstallations
  const limits = yield* LimitsInForce
  const models = yield* Models
  const providers = yield* Providers
  const operations: Operations<typeof CatalogApi, typeof operationErrors, "getVersion"> = {
    listExecutorBackends: () => Effect.map(executors.list, (items) => ({ items })),
    listHarnesses: () =>
      Effect.all({ items: providers.list, available: providers.available, enabled_by: Effect.succeed(agentsBy) }),
    installHarness: ({ body, path, principal }) => installations.request(principal, path.workspace_id, body),
    listModels: ({ principal, query }) => models.list(principal, query),
    getLimits: () => Effect.succeed(limits)
  }
  return operations
})
