import type { Connection, ConnectionInput, RepositoryCheck } from "./generated/Resources.js"
import type { Reins } from "./Reins.js"

/** The way to a private repository with a token. */
export interface HostToken {
  /** The host, with its port where that is not the usual one. */
  readonly host: string
  /** The page of the forge on which people make a token; null for a forge that is not known. */
  readonly page: string | null
  /** A sentence that names the permissions of the token; null for a forge that is not known. */
  readonly needs: string | null
  /** True when git may want a user name beside the token, because the forge is not known. */
  readonly takesUser: boolean
  /** The connection of a token. Without a user name git sends one that most hosts take. */
  readonly connectionOf: (token: string, user?: string) => ConnectionInput
}

interface TokenMaking {
  readonly page: (origin: string) => string
  readonly needs: string
}

/** GitHub no longer fills in the form of fine-grained tokens. */
const forges: Readonly<Record<string, TokenMaking>> = {
  github: {
    page: (origin) => `${origin}/settings/personal-access-tokens/new`,
    needs: "It needs the permissions Contents and Pull requests, with read and write."
  },
  gitlab: {
    page: (origin) => `${origin}/-/user_settings/personal_access_tokens?name=Reins&scopes=api,write_repository`,
    needs: "It needs the scopes api and write_repository."
  },
  gitea: {
    page: (origin) => `${origin}/user/settings/applications`,
    needs: "It needs the permission repository, with read and write."
  }
}

/** Tells how a token opens a repository that was looked at; undefined where a token does not help. */
export const hostToken = ({
  forge,
  host,
  url,
  ways
}: Pick<RepositoryCheck, "forge" | "host" | "url" | "ways">): HostToken | undefined => {
  if (host === null || !ways.includes("token") || !URL.canParse(url)) return undefined
  const { origin } = new URL(url)
  const making = forge === null ? undefined : forges[forge]
  const label = host.slice(0, 200)
  return {
    host,
    page: making?.page(origin) ?? null,
    needs: making?.needs ?? null,
    takesUser: forge === null,
    connectionOf: (token, user) =>
      forge === null
        ? { kind: "git", label, credential: { origin, username: user || "x-access-token", password: token } }
        : // Boundary: an installation may have forges of its own, and the server checks the fields.
          ({ kind: forge, label, credential: { base_url: origin, token } } as ConnectionInput)
  }
}

/** The repository that a token is to open. */
export interface TokenRepository {
  /** The workspace that keeps the token. */
  readonly workspace_id: string
  /** The address of the repository, as the server tells it. */
  readonly url: string
  /** The branch, tag or commit that is wanted; undefined for the default branch. */
  readonly ref?: string | undefined
}

/** The answer to a token: it was kept, or the reason why not. */
export interface SavedToken {
  /** The connection that has the token; null when the token was not kept. */
  readonly connection: Connection | null
  /** The look at the repository with it. */
  readonly check: RepositoryCheck
  /** Why the token was not kept, in a sentence for people; null when it was. */
  readonly refusal: string | null
}

/**
 * Saves a token as a connection of the workspace. It is kept only when it opens the repository, so not when the remote gives no answer or the look
 * fails.
 */
export const saveHostToken = async (
  reins: Pick<Reins, "connections" | "workspaces">,
  { ref, url, workspace_id }: TokenRepository,
  wanted: HostToken,
  { token, user }: { readonly token: string; readonly user?: string | undefined }
): Promise<SavedToken> => {
  const input = { workspace_id, ...wanted.connectionOf(token.trim(), user?.trim()) }
  const connection = await reins.connections.create(input)
  let isOpen = false
  try {
    const asked = { workspace_id, url, connection_id: connection.id, ...(ref !== undefined && { ref }) }
    const check = await reins.workspaces.getRepository(asked)
    isOpen = check.state === "found" || check.state === "ref_not_found"
    return isOpen
      ? { connection, check, refusal: null }
      : { connection: null, check, refusal: refusalOf(check, wanted) }
  } finally {
    if (!isOpen) await reins.connections.disconnect({ connection_id: connection.id })
  }
}

const refusalOf = ({ message, state }: RepositoryCheck, { host }: HostToken): string =>
  state === "auth_required" || state === "not_found" || message === null
    ? `${host} does not open the repository with this token. Check what it may do.`
    : `The token is not saved, because nobody could tell whether it opens the repository. ${message}`
