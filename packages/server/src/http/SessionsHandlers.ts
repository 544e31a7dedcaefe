import { Changesets } from "@reins/core/changes/Changesets"
import { Delegations } from "@reins/core/delegations/Delegations"
import { HarnessSwitches } from "@reins/core/execution/HarnessSwitches"
import { NativeStateExport } from "@reins/core/execution/NativeStateExport"
import { SessionExecutors } from "@reins/core/execution/SessionExecutors"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Effect } from "effect"
import { EventStreams } from "../EventStreams.js"
import type { Handlers } from "./Handlers.js"

export const sessions = Effect.gen(function* () {
  const sessions = yield* Sessions
  const changesets = yield* Changesets
  const delegations = yield* Delegations
  const events = yield* EventStreams
  const executors = yield* SessionExecutors
  const files = yield* SessionFiles
  const switches = yield* HarnessSwitches
  const nativeStates = yield* NativeStateExport
  const usages = yield* Usages
  const handlers: Handlers<"sessions"> = {
    list: ({ path, principal, query }) => sessions.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => sessions.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => sessions.get(principal, path.session_id),
    getUsage: ({ path, principal }) => usages.session(principal, path.session_id),
    update: ({ body, path, principal }) => sessions.update(principal, path.session_id, body),
    archive: ({ path, principal }) => sessions.archive(principal, path.session_id),
    unarchive: ({ path, principal }) => sessions.unarchive(principal, path.session_id),
    close: ({ path, principal }) => sessions.close(principal, path.session_id),
    getChanges: ({ path, principal }) => changesets.changes(principal, path.session_id),
    listChangesets: ({ path, principal, query }) => changesets.list(principal, path.session_id, query),
    capture: ({ body, path, principal }) => changesets.capture(principal, path.session_id, body),
    listDelegations: ({ path, principal, query }) => delegations.list(principal, path.session_id, query),
    delegate: ({ body, path, principal }) => delegations.spawn(principal, path.session_id, body),
    listEvents: ({ exchange, path, principal, query }) => events.answer(exchange, principal, path.session_id, query),
    getExecutor: ({ path, principal }) => executors.get(principal, path.session_id),
    activateExecutor: ({ body, path, principal }) => executors.activate(principal, path.session_id, body),
    releaseExecutor: ({ body, path, principal }) => executors.release(principal, path.session_id, body),
    uploadFile: ({ body, path, principal }) => files.upload(principal, path.session_id, body),
    listFiles: ({ path, principal, query }) => files.list(principal, path.session_id, query.path),
    getFile: ({ path, principal, query }) => files.read(principal, path.session_id, query.path),
    switchHarness: ({ body, path, principal }) => switches.create(principal, path.session_id, body),
    getNativeState: ({ path, principal }) => nativeStates.read(principal, path.session_id)
  }
  return handlers
})
