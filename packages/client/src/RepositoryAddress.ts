/** A repository as a person names it, as the API takes it. */
export interface RepositoryAddress {
  /** An address with https, or the one that was given. */
  readonly url: string
  /** `name`: an owner and a name on GitHub. `ssh`: an address for SSH. `link`: a page of the repository. `url`: an address as it is. */
  readonly from: "name" | "ssh" | "link" | "url"
  /**
   * The branches, tags or commits that a link may mean, the most likely first. Names of branches have slashes too, so a link to a folder of a
   * branch can be read in more than one way.
   */
  readonly refs: ReadonlyArray<string>
  /** The ref of the remote that holds the head of the linked pull request; null for another link. */
  readonly pullRequest: string | null
}

/**
 * Reads an address of a repository, `owner/name`, `git@host:owner/name`, or a link to a pull request, a branch, a folder, a file or a commit.
 * Undefined for all else, such as a path.
 */
export const repositoryAddress = (given: string): RepositoryAddress | undefined => {
  const text = given.trim()
  if (/^[\w-][\w.-]*\/[\w.-]+$/.test(text) && !/\/\.{1,2}$/.test(text))
    return { url: `https://github.com/${text}`, from: "name", refs: [], pullRequest: null }
  const [, host, path] = /^(?:[\w.-]+@)([\w.-]+):(?!\/\/)\/?(.+)$/.exec(text) ?? []
  if (host !== undefined && path !== undefined)
    return { url: `https://${host}/${path}`, from: "ssh", refs: [], pullRequest: null }
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol === "ssh:" || url.protocol === "git+ssh:")
    return { url: `https://${url.hostname}${url.pathname}`, from: "ssh", refs: [], pullRequest: null }
  if (!/^https?:$/.test(url.protocol)) return undefined
  return linked(url) ?? { url: text, from: "url", refs: [], pullRequest: null }
}

/** The forms of the paths of pages: the repository, and what is behind it. */
const pages: ReadonlyArray<{
  readonly path: RegExp
  readonly found: (words: string) => Pick<RepositoryAddress, "refs" | "pullRequest">
}> = [
  // GitLab, whose groups may be several.
  { path: /^(\/.+?)\/-\/merge_requests\/(\d+)(?:\/.*)?$/, found: (id) => pulled(`refs/merge-requests/${id}/head`) },
  { path: /^(\/.+?)\/-\/(?:tree|blob|commits?|tags)\/(.+)$/, found: (rest) => named(rest) },
  // GitHub and Gitea.
  { path: /^(\/[^/]+\/[^/]+)\/pulls?\/(\d+)(?:\/.*)?$/, found: (id) => pulled(`refs/pull/${id}/head`) },
  { path: /^(\/[^/]+\/[^/]+)\/(?:tree|blob|commits?)\/(.+)$/, found: (rest) => named(rest) },
  { path: /^(\/[^/]+\/[^/]+)\/releases\/tag\/(.+)$/, found: (rest) => named(rest) },
  { path: /^(\/[^/]+\/[^/]+)\/src\/(?:branch|tag|commit)\/(.+)$/, found: (rest) => named(rest) },
  // The other pages of a repository.
  {
    path: /^(\/[^/]+\/[^/]+)\/(?:issues|pulls|actions|releases|wiki|branches|tags)(?:\/(.*))?$/,
    found: () => ({ refs: [], pullRequest: null })
  }
]

const pulled = (ref: string) => ({ refs: [], pullRequest: ref })

/** Each beginning of the path, the shortest first. */
const named = (rest: string) => {
  const words = rest
    .replace(/(?<!\/)\/+$/, "")
    .split("/")
    .map(decoded)
  return { refs: words.map((_, at) => words.slice(0, at + 1).join("/")), pullRequest: null }
}

const decoded = (word: string): string => {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

const linked = (url: URL): RepositoryAddress | undefined => {
  for (const { found, path } of pages) {
    const [, repository, rest = ""] = path.exec(url.pathname) ?? []
    if (repository === undefined) continue
    const { password, username } = url
    const user = username === "" ? "" : `${username}${password === "" ? "" : `:${password}`}@`
    return { url: `${url.protocol}//${user}${url.host}${repository}`, from: "link", ...found(rest) }
  }
  return undefined
}
