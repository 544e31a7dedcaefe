import { type HostToken, hostToken, type RepositoryCheck, type SavedToken, saveHostToken } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import type { Remote } from "./Remote.js"

/** The variable that has the token where nobody can be asked for it. */
export const tokenVariable = "REINS_GIT_TOKEN"

/** A repository that a session is to start from. */
interface Wanted {
  readonly url: string
  readonly ref?: string | undefined
}

/**
 * Has the server look at a repository. When that is private and no connection opens it, the person is asked for a token, which becomes a connection of
 * the workspace. Throws `CommandFailed` where nobody can be asked. A remote that gives no answer stops nobody.
 */
export const openRepository = async (
  remote: Remote,
  { ref, url }: Wanted,
  isQuiet: boolean
): Promise<RepositoryCheck> => {
  const check = await look(remote, { ref, url })
  const wanted = hostToken(check)
  if (check.state === "ref_not_found")
    throw new CommandFailed({ message: `${url} has no branch or tag "${ref}". Name another one with --ref.` })
  if (wanted === undefined) return check
  if (isQuiet || !isInteractive()) throw new CommandFailed({ message: closed(url, wanted) })
  return askForToken(remote, { ref, url }, wanted)
}

/** `openRepository` for the newest version of a project. */
export const openProjectRepository = async (remote: Remote, project_id: string, isQuiet: boolean): Promise<void> => {
  const repository = await repositoryOfProject(remote.reins, project_id)
  if (repository !== undefined) await openRepository(remote, repository, isQuiet)
}

/** The repository of the newest version of a project. Undefined also for one with connections of its own, which may open what nobody else sees. */
export const repositoryOfProject = async (reins: Remote["reins"], project_id: string): Promise<Wanted | undefined> => {
  const versions = await reins.projects.listVersions({ project_id, limit: 200 }).all()
  const { connection_ids, repository } = versions.at(-1)?.spec ?? {}
  if (repository == null || (connection_ids ?? []).length > 0) return undefined
  return { url: repository.url, ref: repository.base_ref ?? undefined }
}

/** The sentence for a repository that nobody can be asked a token for; undefined when the server opens it, or a token does not help. */
export const closedText = async (
  remote: Pick<Remote, "reins" | "workspaceId">,
  wanted: Wanted
): Promise<string | undefined> => {
  const token = hostToken(await look(remote, wanted))
  return token && closed(wanted.url, token)
}

/** True for an address of SSH that the server would use, and has no key for. */
export const lacksKey = async (remote: Remote, url: string): Promise<boolean> =>
  (await look(remote, { url })).state === "auth_required"

const look = (
  { reins, workspaceId }: Pick<Remote, "reins" | "workspaceId">,
  { ref, url }: Wanted
): Promise<RepositoryCheck> =>
  reins.workspaces.getRepository({ ...{ workspace_id: workspaceId, url }, ...(ref !== undefined && { ref }) })

const closed = (url: string, { host }: HostToken): string =>
  `${url} is private, or there is none, and no connection of the workspace opens it. Save a token for ${host}: ` +
  `${tokenVariable}=TOKEN reins connections add ${url}`

/** Asks until a token opens the repository. */
const askForToken = async (remote: Remote, repository: Wanted, wanted: HostToken): Promise<RepositoryCheck> => {
  const { host, needs, page } = wanted
  tell(`${repository.url} is private, or there is none.`)
  if (page !== null) tell(`Make a token on ${page}${needs === null ? "" : `. ${needs}`}`)
  for (;;) {
    const { check, refusal } = await trySaving(remote, repository, wanted, await ask.secret(`Token for ${host}`))
    if (refusal === null) return check
    tell(refusal)
  }
}

/** Saves a token as a connection, and tells it. Gives what became of it. */
const trySaving = async (
  { reins, workspaceId }: Remote,
  { ref, url }: Wanted,
  wanted: HostToken,
  token: string,
  user?: string
): Promise<SavedToken> => {
  const saved = await saveHostToken(reins, { workspace_id: workspaceId, url, ref }, wanted, { token, user })
  if (saved.connection !== null)
    tell(`The token is saved as the connection ${saved.connection.label} of the workspace.`)
  return saved
}

/** Saves the token for a repository, from the environment or a person, as `reins connections add`. */
export const addToken = async (remote: Remote, url: string, user: string | undefined): Promise<void> => {
  const wanted = hostToken(await look(remote, { url }))
  if (wanted === undefined)
    return tell(`${url} needs no token of yours: the server opens it, or a token does not help.`)
  const token = process.env["REINS_GIT_TOKEN"]
  if (token !== undefined && token !== "") {
    const { refusal } = await trySaving(remote, { url }, wanted, token, user)
    if (refusal === null) return
    throw new CommandFailed({ message: refusal })
  }
  if (!isInteractive())
    throw new CommandFailed({
      message: `There is no token for ${wanted.host}. Give it in ${tokenVariable}: ${tokenVariable}=TOKEN reins connections add ${url}`
    })
  await askForToken(remote, { url }, wanted)
}
