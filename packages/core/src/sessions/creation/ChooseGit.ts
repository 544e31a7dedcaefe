import type { WorkspaceId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { RepositoryConnections } from "../../catalog/RepositoryConnections.js"
import type { ProjectSpec } from "../../projects/Project.js"
import { storedChoice } from "./GitChoice.js"
import type { SessionInput } from "./SessionsApi.js"

/** Gives the functions that choose the connection of a session for git. The choice is as it is stored. */
export const chooseGit = Effect.gen(function* () {
  const { firstOf, ranked, requireFitting } = yield* RepositoryConnections

  /** The first of the project that fits, else the best of the workspace. */
  const best = Effect.fnUntraced(function* (
    workspaceId: WorkspaceId,
    url: string,
    { connection_ids = [] }: Pick<ProjectSpec, "connection_ids">
  ) {
    const ofProject = yield* firstOf(workspaceId, connection_ids, url)
    return storedChoice({ id: ofProject ?? (yield* ranked(workspaceId, url))[0]?.id ?? null, named: false })
  })

  return {
    best,
    /** The one that was named, which has to fit, else the best. */
    wanted: Effect.fnUntraced(function* (
      workspaceId: WorkspaceId,
      url: string | undefined,
      named: NonNullable<SessionInput["repository"]>["connection_id"],
      spec: Pick<ProjectSpec, "connection_ids">
    ) {
      if (url === undefined) return null
      if (named === undefined) return yield* best(workspaceId, url, spec)
      const id = named === null ? null : yield* requireFitting(workspaceId, named, url)
      return storedChoice({ id, named: true })
    })
  }
})
