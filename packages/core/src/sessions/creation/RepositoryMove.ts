import { requireAll } from "@reins/base/domain/Condition"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Git } from "@reins/machine/git/Git"
import { checkPosted } from "@reins/machine/git/PostedUrl"
import { Effect } from "effect"
import { JobStore } from "../../jobs/JobStore.js"
import { Projects } from "../../projects/Projects.js"
import { SessionListeners } from "../rows/SessionListeners.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { repositoryRules } from "../rows/SessionRules.js"
import { chooseGit } from "./ChooseGit.js"
import { gitChoiceOf } from "./GitChoice.js"
import type { SessionPatch } from "./SessionsApi.js"

/** The kind of the job that brings the URL into the agent's own repository; its payload is `{from, to}`. */
export const followRemoteJobKind = "session.follow_remote"

/**
 * Gives the function that changes the URL of the repository of a session, for the columns of the session. Clones and deliveries take it from the
 * session. Where there is a workspace already, a job tells the agent's own repository. The connection is chosen anew, unless somebody has named one.
 */
export const repositoryMove = Effect.gen(function* () {
  const git = yield* Git
  const jobs = yield* JobStore
  const listeners = yield* SessionListeners
  const projects = yield* Projects
  const { best } = yield* chooseGit

  return Effect.fnUntraced(function* (row: SessionRow, given: SessionPatch["repository"]) {
    if (given === undefined) return {}
    yield* checkPosted(git, ["body", "repository"], given)
    if (row.tree.repository === null) return yield* noRepository
    if (given.url === row.tree.repository) return {}
    yield* requireAll(repositoryRules, row)
    if (yield* listeners.isDelivering(row)) return yield* deliveryUnderWay
    if (row.tree.state !== "none") {
      yield* jobs.enqueue({
        kind: followRemoteJobKind,
        subject: { type: "session", id: row.id },
        workspaceId: row.workspace_id,
        payload: { from: row.tree.repository, to: given.url },
        filesOf: row.id,
        maxAttempts: 20
      })
    }
    const { named } = gitChoiceOf(row.tree)
    if (named) return { repository: given.url }
    const spec = yield* projects.specOf(row)
    return { repository: given.url, git_connection: yield* best(row.workspace_id, given.url, spec) }
  })
})

const noRepository = new ReinsError({
  code: "invalid_transition",
  message:
    "The session did not start from a repository, so it has no URL to change. Create a new one with the repository.",
  details: { resource: "session" }
})

const deliveryUnderWay = new ReinsError({
  code: "delivery_unresolved",
  message:
    "A delivery of the session is on its way to its present repository. Wait until it has ended, or cancel it, then change the URL.",
  details: { state: "executing", reason: null }
})
