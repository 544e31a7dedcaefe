import type { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import type { Bounds } from "@reins/machine/executor/Executors"
import { networksOf, type ProjectSpec } from "../../projects/Project.js"
import type { SessionRow } from "../rows/SessionRow.js"

interface Limited {
  readonly executor: Pick<SessionRow["executor"], "limits">
}

/** The limits that a session asks for; undefined for those of the server. */
export const limitsOf = ({ executor }: Limited): ExecutorLimits | undefined =>
  executor.limits === null ? undefined : JSON.parse(executor.limits)

/** The bounds that the executor of a session has to enforce. */
export const boundsOf = (session: Limited, spec: ProjectSpec): Bounds => {
  const limits = limitsOf(session)
  return { networks: networksOf(spec), ...(limits && { limits }) }
}
