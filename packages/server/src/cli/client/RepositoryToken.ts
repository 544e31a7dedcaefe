import { type HostToken, hostToken, type RepositoryCheck } from "@reins/client"
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

/** True for an address of SSH that the server would use, and has no key for. */
export const lacksKey = async (remote: Remote, url: string): Promise<boolean> =>
  (await look(remote, { url })).state === "auth_required"

const look = ({ reins, workspaceId }: Remote, { ref, url }: Wanted, connection_id?: string): Promise<RepositoryCheck> =>
  reins.workspaces.getRepository({
    ...{ workspace_id: workspaceId, url },
    ...(ref !== undefined && { ref }),
    ...(connection_id !== undefined && { connection_id })
  })

const closed = (url: string, { host }: HostToken): string =>
  `${url} is private, or there is none, and no connection of the workspace opens it. Save a token for ${host}: ` +
  `${tokenVariable}=TOKEN reins connections add ${url}`

/** Asks until a token opens the repository. */
const askForToken = async (remote: Remote, repository: Wanted, wanted: HostToken): Promise<RepositoryCheck> => {
  const { host, needs, page } = wanted
  tell(`${repository.url} is private, or there is none.`)
  if (page !== null) tell(`Make a token on ${page}${needs === null ? "" : `. ${needs}`}`)
  for (;;) {
    const check = await trySaving(remote, repository, wanted, await ask.secret(`Token for ${host}`))
    if (check !== undefined) return check
    tell(refusal(wanted))
  }
}

const refusal = ({ host }: HostToken): string =>
  `${host} does not open the repository with this token. Check what it may do.`

/** Saves a token as a connection. Gives the look at the repository with it; undefined when it does not open it, and then it is not kept. */
const trySaving = async (
  remote: Remote,
  repository: Wanted,
  wanted: HostToken,
  token: string,
  user?: string
): Promise<RepositoryCheck | undefined> => {
  const { connections } = remote.reins
  const input = { workspace_id: remote.workspaceId, ...wanted.connectionOf(token.trim(), user) }
  const { id, label } = await connections.create(input)
  const check = await look(remote, repository, id)
  if (check.state !== "auth_required" && check.state !== "not_found") {
    tell(`The token is saved as the connection ${label} of the workspace.`)
    return check
  }
  await connections.disconnect({ connection_id: id })
  return undefined
}

/** Saves the token for a repository, from the environment or a person, as `reins connections add`. */
export const addToken = async (remote: Remote, url: string, user: string | undefined): Promise<void> => {
  const wanted = hostToken(await look(remote, { url }))
  if (wanted === undefined)
    return tell(`${url} needs no token of yours: the server opens it, or a token does not help.`)
  const token = process.env["REINS_GIT_TOKEN"]
  if (token !== undefined && token !== "") {
    if ((await trySaving(remote, { url }, wanted, token, user)) !== undefined) return
    throw new CommandFailed({ message: refusal(wanted) })
  }
  if (!isInteractive())
    throw new CommandFailed({
      message: `There is no token for ${wanted.host}. Give it in ${tokenVariable}: ${tokenVariable}=TOKEN reins connections add ${url}`
    })
  await askForToken(remote, { url }, wanted)
}
