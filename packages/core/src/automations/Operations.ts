import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { AutomationRuns } from "./AutomationRuns.js"
import { Automations } from "./Automations.js"
import type { AutomationsApi } from "./AutomationsApi.js"
import type { operationErrors } from "./Errors.js"
import { FilterPreviews } from "./FilterPreviews.js"

export const automations = Effect.gen(function* () {
  const automations = yield* Automations
  const runs = yield* AutomationRuns
  const previews = yield* FilterPreviews
  const operations: Operations<typeof AutomationsApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => automations.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => automations.create(principal, path.workspace_id, body),
    getPreview: ({ path, principal, query }) => automations.preview(principal, path.workspace_id, query),
    previewFilter: ({ body, path, principal }) => previews.preview(principal, path.workspace_id, body),
    get: ({ path, principal }) => automations.get(principal, path.automation_id),
    update: ({ body, path, principal }) => automations.update(principal, path.automation_id, body),
    delete: ({ path, principal }) => automations.remove(principal, path.automation_id),
    pause: ({ body, path, principal }) => automations.pause(principal, path.automation_id, body),
    resume: ({ path, principal }) => automations.resume(principal, path.automation_id),
    listRuns: ({ path, principal, query }) => runs.list(principal, path.automation_id, query),
    startRun: ({ path, principal }) => runs.start(principal, path.automation_id),
    getRun: ({ path, principal }) => runs.get(principal, path.automation_run_id),
    cancelRun: ({ path, principal }) => runs.cancel(principal, path.automation_run_id),
    retryRun: ({ path, principal }) => runs.retry(principal, path.automation_run_id)
  }
  return operations
})
