import { type HostToken, hostToken, type RepositoryCheck, saveHostToken } from "@reins/client"
import { Fault } from "../api/Failure.js"
import { reins } from "../api/Server.js"

const sentences: Readonly<Record<string, { readonly field: string; readonly text: string }>> = {
  not_found: { field: "repository", text: "There is no public repository at this address. Check it." },
  auth_required: {
    field: "repository",
    text: "There is no public repository at this address. A private one through SSH needs a connection with a key."
  },
  ref_not_found: { field: "base_ref", text: "The repository has no such branch, tag or commit." },
  refused: { field: "repository", text: "This server contacts no such address. Its operator can allow it." }
}

const chosenIsClosed = "The Git connection that is chosen under More does not open this repository. Choose another."

/** The repository of a new session, and the connection that somebody has chosen for it. */
export interface AskedRepository {
  readonly workspace_id: string
  readonly url: string
  readonly ref: string | undefined
  /** Undefined for the connection of the host, null for none. */
  readonly connection_id: string | null | undefined
}

const checkOf = ({ connection_id, ref, url, workspace_id }: AskedRepository): Promise<RepositoryCheck> =>
  reins.workspaces.getRepository({
    ...{ workspace_id, url },
    ...(ref !== undefined && { ref }),
    ...(connection_id === null ? { anonymous: true } : connection_id !== undefined && { connection_id })
  })

/**
 * Asks the repository before a session is made of it. Gives the token that its host wants; undefined when the session may start. A remote that gives no
 * answer stops nobody.
 */
export const askRepository = async (asked: AskedRepository): Promise<HostToken | undefined> => {
  const check = await checkOf(asked)
  const token = hostToken(check)
  if (token !== undefined && asked.connection_id !== undefined) throw new Fault("repository", chosenIsClosed)
  if (token !== undefined) return token
  const fault = sentences[check.state]
  if (fault !== undefined) throw new Fault(fault.field, fault.text)
  return undefined
}

/** Saves a token as a connection of the workspace. Throws a fault of its field when it does not open the repository. */
export const saveToken = async (
  { ref, url, workspace_id }: AskedRepository,
  wanted: HostToken,
  typed: { readonly token: string; readonly user: string | undefined }
): Promise<void> => {
  const { refusal } = await saveHostToken(reins, { workspace_id, url, ref }, wanted, typed)
  if (refusal !== null) throw new Fault("token", refusal)
}
