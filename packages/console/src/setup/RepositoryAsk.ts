import type { Signal } from "@preact/signals"
import { type HostToken, hostToken, type RepositoryCheck, saveHostToken } from "@reins/client"
import { Fault } from "../api/Failure.js"
import { reins, wholeOf } from "../api/Server.js"

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
 * Asks the repository before work begins from it. Gives the token that its host wants; undefined when the work may begin. A remote that gives no answer
 * stops nobody. `field` has the repository in the form, where it is not a field of its own.
 */
const askRepository = async (asked: AskedRepository, field?: string): Promise<HostToken | undefined> => {
  const check = await checkOf(asked)
  const token = hostToken(check)
  if (token !== undefined && asked.connection_id !== undefined) throw new Fault("repository", chosenIsClosed)
  if (token !== undefined) return token
  const fault = sentences[check.state]
  if (fault !== undefined) throw new Fault(field ?? fault.field, fault.text)
  return undefined
}

/**
 * The repository of the newest version of a project, as somebody asks it who has no other connection. Undefined where there is none, and where the
 * version names connections of its own, which may open what nobody else can see.
 */
export const repositoryOfProject = async (
  workspace_id: string,
  project_id: string
): Promise<AskedRepository | undefined> => {
  const { items } = await wholeOf(reins.projects.listVersions({ project_id, limit: 200 }))
  const { connection_ids, repository } = items.at(-1)?.spec ?? {}
  if (repository == null || (connection_ids ?? []).length > 0) return undefined
  return { workspace_id, url: repository.url, ref: repository.base_ref ?? undefined, connection_id: undefined }
}

/** Saves a token as a connection of the workspace. Throws a fault of its field when it does not open the repository. */
const saveToken = async (
  { ref, url, workspace_id }: AskedRepository,
  wanted: HostToken,
  typed: { readonly token: string; readonly user: string | undefined }
): Promise<void> => {
  const { refusal } = await saveHostToken(reins, { workspace_id, url, ref }, wanted, typed)
  if (refusal !== null) throw new Fault("token", refusal)
}

/**
 * True when work may begin from the repository, with a token that was typed for its host. Else `wanted` gets the token that its host wants, for which the
 * form then asks.
 */
export const isOpen = async (
  asked: AskedRepository,
  wanted: Signal<HostToken | undefined>,
  { token = "", token_user: user }: Readonly<Record<string, string>>,
  field?: string
): Promise<boolean> => {
  const before = wanted.peek()
  if (before !== undefined && token !== "" && URL.canParse(asked.url) && new URL(asked.url).host === before.host) {
    await saveToken(asked, before, { token, user })
    wanted.value = undefined
  }
  wanted.value = await askRepository(asked, field)
  return wanted.value === undefined
}
