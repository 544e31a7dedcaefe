import type { ExecutorLimits } from "../domain/ExecutorLimits.js"
import type { Bounds } from "../executor/Executors.js"
import { networksOf, type ProjectSpec } from "../projects/Project.js"
import type { SessionRow } from "./SessionRow.js"

type Limited = Pick<SessionRow, "executor_limits">

/** The limits that a session asks for; undefined for those of the server. */
export const limitsOf = ({ executor_limits }: Limited): ExecutorLimits | undefined =>
  executor_limits === null ? undefined : JSON.parse(executor_limits)

/** The bounds that the executor of a session has to enforce. */
export const boundsOf = (session: Limited, spec: ProjectSpec): Bounds => {
  const limits = limitsOf(session)
  return { networks: networksOf(spec), ...(limits && { limits }) }
}
