import type { ConnectionId } from "@reins/base/domain/Ids"
import type { WorkingTree } from "../rows/SessionRow.js"

/** The connection that git uses for the repository of a session. */
export interface GitChoice {
  /** Null for none. */
  readonly id: ConnectionId | null
  /** True when a caller has named it, or has said that there is none. The service then chooses no other. */
  readonly named: boolean
}

const noChoice: GitChoice = { id: null, named: false }

/** The choice of a session. Nobody has chosen for one of an older release. */
export const gitChoiceOf = ({ git_connection }: Pick<WorkingTree, "git_connection">): GitChoice =>
  git_connection === null ? noChoice : JSON.parse(git_connection)

/** A choice as it is stored. */
export const storedChoice = (choice: GitChoice): string | null =>
  choice.id === null && !choice.named ? null : JSON.stringify(choice)
