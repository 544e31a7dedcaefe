import { Effect } from "effect"
import { Access } from "../access/Access.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { requireAll } from "../domain/Condition.js"
import type { Principal } from "../domain/Principal.js"
import { parseWorkspacePath } from "../files/WorkspacePath.js"
import { Projects } from "../projects/Projects.js"
import { Quotas } from "../sessions/Quotas.js"
import { sessionRules } from "../sessions/SessionRules.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { failureOf } from "./FileFailures.js"
import { notSetUp } from "./FileRefusals.js"
import type { FileUpload } from "./FilesApi.js"
import { hasSetup } from "./TreeOrders.js"
import { bytesOfUpload } from "./UploadBytes.js"

/** Holds an upload to the rules of its session, and gives its bytes. Nothing is written yet. */
export const makeCheckUpload = Effect.gen(function* () {
  const access = yield* Access
  const store = yield* SessionStore
  const quotas = yield* Quotas
  const projects = yield* Projects
  const { limits } = yield* CoreConfig

  return Effect.fnUntraced(function* (principal: Principal, sessionId: string, upload: FileUpload) {
    const session = yield* store.readable(principal, sessionId)
    yield* access.writeWithin(principal, session.workspace_id, [session.id, session.lineage.parent_session_id])
    yield* requireAll(sessionRules.upload_file, session)
    yield* Effect.mapError(parseWorkspacePath(upload.path), (error) => failureOf("body", error))
    yield* quotas.disk(session.workspace_id)
    const bytes = yield* bytesOfUpload(upload, limits.uploadBytes)
    // A setup may take longer than any request waits.
    if (session.tree.state !== "ready" && hasSetup(yield* projects.specOf(session))) return yield* notSetUp(session)
    return { session, bytes }
  })
})
