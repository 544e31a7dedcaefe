import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { ExecutorApi } from "./executor/ExecutorApi.js"
import { HarnessSwitches } from "./executor/HarnessSwitches.js"
import { NativeStateExport } from "./executor/NativeStateExport.js"
import { SessionExecutors } from "./executor/SessionExecutors.js"

export const sessions = Effect.gen(function* () {
  const executors = yield* SessionExecutors
  const switches = yield* HarnessSwitches
  const nativeStates = yield* NativeStateExport
  const operations: Operations<typeof ExecutorApi, typeof operationErrors> = {
    getExecutor: ({ path, principal }) => executors.get(principal, path.session_id),
    activateExecutor: ({ body, path, principal }) => executors.activate(principal, path.session_id, body),
    releaseExecutor: ({ body, path, principal }) => executors.release(principal, path.session_id, body),
    switchHarness: ({ body, path, principal }) => switches.create(principal, path.session_id, body),
    getNativeState: ({ path, principal }) => nativeStates.read(principal, path.session_id)
  }
  return operations
})
