import type { ConnectionInput, RepositoryCheck } from "./generated/Resources.js"

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
