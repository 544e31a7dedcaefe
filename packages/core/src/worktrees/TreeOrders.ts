import type { SetupOrder, TreeOrder, TreeOrigin } from "@reins/machine/bench/TreeOrder"
import { GitError } from "@reins/machine/repository/run/GitError"
import { Effect } from "effect"
import type { ProjectSpec } from "../projects/Project.js"
import { projectEnvironment } from "../projects/ProjectEnvironment.js"
import { isFor, setupStepSeconds } from "../projects/ProjectSetup.js"
import { boundsOf, limitsOf } from "../sessions/creation/SessionBounds.js"
import type { WorkspaceSeed } from "../sessions/creation/SessionOrigin.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"

/** True for a spec whose workspaces are prepared by commands. */
export const hasSetup = ({ setup = [] }: ProjectSpec): boolean => setup.length > 0

/** The repository of a session as a bench is told of it. */
export const treeOriginOf = (row: SessionRow): TreeOrigin => ({
  session: row.id,
  workspace: row.workspace_id,
  repository: row.tree.repository,
  base_commit: row.tree.base_commit,
  base_ref: row.tree.base_ref,
  sparse: row.tree.sparse === null ? null : JSON.parse(row.tree.sparse)
})

/** The files of a session that are to be made. */
export const orderOf = (row: SessionRow, setup: SetupOrder | null): TreeOrder => {
  const seed: WorkspaceSeed | null = row.tree.seed === null ? null : JSON.parse(row.tree.seed)
  return {
    ...treeOriginOf(row),
    seed: seed && { changeset: seed.changeset_id, base: seed.base_commit, tree: seed.tree },
    setup
  }
}

/** Gives the commands that prepare the files of a session, with the variables of its project; null where there are none. */
export const setupOrders = Effect.gen(function* () {
  const environmentOf = yield* projectEnvironment

  return Effect.fnUntraced(function* (row: SessionRow, spec: ProjectSpec) {
    if (!hasSetup(spec)) return null
    const { secretVersions, variables } = yield* Effect.mapError(
      environmentOf(row, spec, "setup"),
      ({ message }) => new GitError({ kind: "setup_failed", message })
    )
    const limits = limitsOf(row)
    const order: SetupOrder = {
      steps: (spec.setup ?? []).map(({ argv, name, timeout_seconds = setupStepSeconds }) => ({
        name,
        argv,
        timeout_seconds
      })),
      variables,
      ...(spec.setup_network !== undefined && { network: spec.setup_network }),
      ...(limits && { limits }),
      backend: row.executor.backend,
      bounds: boundsOf(row, spec),
      sameness: sameness(row, spec, secretVersions)
    }
    return order
  })
})

/** Everything that what a setup leaves depends on besides its base. No two workspaces share it, because it may hold their secrets. */
const sameness = (
  { executor: { backend }, project, tree: { repository, sparse }, workspace_id }: SessionRow,
  { environment = [], setup = [], setup_network }: ProjectSpec,
  secretVersions: Readonly<Record<string, number>>
) => ({
  format: 1,
  ...{ workspace_id, project_id: project?.id ?? null, repository },
  ...(sparse !== null && { sparse }),
  ...{ setup, setup_network, environment: environment.filter(isFor("setup")), secretVersions },
  backend
})
