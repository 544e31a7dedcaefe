import { CoreConfig } from "@reins/base/base/CoreConfig"
import { requireAll } from "@reins/base/domain/Condition"
import type { Principal } from "@reins/base/domain/Principal"
import type { UploadPlace } from "@reins/base/domain/UploadPlace"
import { parseWorkspacePath } from "@reins/machine/files/WorkspacePath"
import { Effect, Either } from "effect"
import { Access } from "../access/Access.js"
import { Projects } from "../projects/Projects.js"
import { Quotas } from "../sessions/rows/Quotas.js"
import { sessionRules } from "../sessions/rows/SessionRules.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { failureOf, invalid } from "./FileFailures.js"
import { notSetUp } from "./FileRefusals.js"
import type { FileUpload } from "./FilesApi.js"
import { hasSetup } from "./TreeOrders.js"
import { bytesOfUpload } from "./UploadBytes.js"

/** The place of an upload, with its path from the root of the workspace, or the name of an attachment. */
export interface UploadTarget {
  readonly place: UploadPlace
  readonly path: string
}

/** The place that an upload asks for. Nothing but its content is said of an attachment. */
const targetOf = Effect.fnUntraced(function* ({ expected_digest, mode, name, path }: FileUpload) {
  if (path !== undefined) {
    if (name !== undefined)
      return yield* invalid("body", "name", "an attachment has a name, and a file of the workspace a path", name)
    yield* Effect.mapError(parseWorkspacePath(path), (error) => failureOf("body", error))
    return { place: "workspace", path } satisfies UploadTarget
  }
  if (name === undefined)
    return yield* invalid("body", "path", "a file of the workspace needs a path, and an attachment a name", "")
  const isPlain = Either.isRight(parseWorkspacePath(name)) && !name.includes("/")
  if (!isPlain)
    return yield* invalid("body", "name", "an attachment needs the plain name of a file, without a folder", name)
  const refused = mode === undefined ? expected_digest : mode
  if (refused !== undefined)
    return yield* invalid("body", mode === undefined ? "expected_digest" : "mode", "an attachment has none", refused)
  return { place: "attachment", path: name } satisfies UploadTarget
})

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
    const target = yield* targetOf(upload)
    yield* quotas.disk(session.workspace_id)
    const bytes = yield* bytesOfUpload(upload, limits.uploadBytes)
    // A setup may take longer than any request waits.
    if (session.tree.state !== "ready" && hasSetup(yield* projects.specOf(session))) return yield* notSetUp(session)
    return { session, bytes, target }
  })
})
