import type { Answer, Branches } from "./ForgeServer.js"
import { giteaAccount } from "./GiteaStanding.js"
import { userOf } from "./GitHubStanding.js"
import { gitlabUser } from "./GitLabStanding.js"
import { recordings } from "./Recorded.js"

/** The demands of a server besides checks, as parts of its own answers. */
export interface Demanded {
  /** More rules of GitHub, which are those of ruleset 2. */
  rules?: ReadonlyArray<unknown>
  /** GitHub's word on the token and ruleset 2. */
  bypass?: string
  /** The protection of the branch, which GitHub and Gitea show to administrators. */
  protection?: Readonly<Record<string, unknown>>
  /** More of the repository or project. */
  repository?: Readonly<Record<string, unknown>>
  /** More of the branch. */
  branch?: Readonly<Record<string, unknown>>
}

/** GitHub's refusals of a way to merge that the settings of a repository do not allow, in its words. */
const methodRefusals: Readonly<Record<string, readonly [setting: string, words: string]>> = {
  merge: ["allow_merge_commit", "Merge commits are not allowed on this repository."],
  squash: ["allow_squash_merge", "Squash merges are not allowed on this repository."],
  rebase: ["allow_rebase_merge", "Rebase merges are not allowed on this repository."]
}

/** The refusal of a merge by its method; undefined where the demanded settings allow it. */
export const refusedMethod = (
  { repository }: Demanded,
  input: Readonly<Record<string, unknown>>
): Answer | undefined => {
  const [setting = "", message] = methodRefusals[String(input["merge_method"])] ?? []
  return repository?.[setting] === false ? { status: 405, body: { message } } : undefined
}

/** The demands of a server before a merge, and those who may write to it. */
export interface Ruling {
  readonly demands: Demanded
  /** The names of the checks that its main branch demands. */
  readonly required: Array<string>
  /** The accounts that may not write. All others may. */
  readonly readers: Set<string>
  readonly branches: Branches
  readonly odd: { readonly headless: boolean }
}

const ok = (body: unknown): Answer => ({ status: 200, body })
const gone: Answer = { status: 204, body: undefined }

/** Answers what is asked about rules, permissions and branches. `rest` is the path below the repository. */
export type RulingRoute = (ruling: Ruling, method: string, rest: string, url: URL) => Answer | undefined

const named = (pattern: RegExp, rest: string): string | undefined => {
  const found = pattern.exec(rest)?.[1]
  return found === undefined ? undefined : decodeURIComponent(found)
}

/** Answers a read or a removal of a branch. */
const branchAnswer = (
  { branches }: Ruling,
  method: string,
  name: string | undefined,
  shown: (head: string) => unknown
): Answer | undefined => {
  const head = name === undefined ? undefined : branches.headOf(name)
  if (name === undefined || head === undefined) return undefined
  if (method === "GET") return ok(shown(head))
  if (method !== "DELETE" || branches.remove === undefined) return undefined
  branches.remove(name)
  return gone
}

const ofRepository = "/repos/{owner}/{repo}"
const ofProject = "/projects/{id}"

const github = recordings("github")
const gitlab = recordings("gitlab")
const gitea = recordings("gitea")

/** The word for the permission of an account that a call asks for. */
const permission = (
  { readers }: Ruling,
  rest: string,
  shown: (login: string, word: string) => unknown
): Answer | undefined => {
  const login = named(/^\/collaborators\/([^/]+)\/permission$/, rest)
  return login === undefined ? undefined : ok(shown(login, readers.has(login) ? "read" : "write"))
}

/** A commit without its id, as a forge shows a branch that it has not looked at yet. */
const headless = { sha: undefined, id: undefined }

const rulePath = `GET ${ofRepository}/rules/branches/{branch}`

/** A rule with the parameters that it is given. The source of it is a recorded one. */
const ruleOf = (rule: object): unknown => github.item(rulePath, { parameters: undefined, ...rule })

const githubRules = ({ demands, required }: Ruling): ReadonlyArray<unknown> => {
  const required_status_checks = required.slice(0, 1).map((context) => ({ context, integration_id: 15368 }))
  const checks = {
    type: "required_status_checks",
    ruleset_id: 1,
    parameters: { strict_required_status_checks_policy: false, required_status_checks }
  }
  const more = (demands.rules ?? []).map((rule) => (typeof rule === "object" && rule !== null ? ruleOf(rule) : rule))
  return [ruleOf({ type: "deletion", ruleset_id: 1 }), ruleOf(checks), ...more]
}

const githubBranch = (ruling: Ruling, name: string, sha: string): unknown => {
  const { branch = {}, protection } = ruling.demands
  // The first one is demanded by a ruleset.
  const contexts = ruling.required.slice(1)
  const enabled = contexts.length > 0 || protection !== undefined
  const parts = {
    name,
    commit: ruling.odd.headless ? headless : { sha },
    protected: enabled,
    protection: { enabled, required_status_checks: { contexts, checks: [] } }
  }
  return github.replaced(`GET ${ofRepository}/branches/{branch}`, branch, parts)
}

export const githubRuling: RulingRoute = (ruling, method, rest) => {
  const { bypass, protection, repository = {} } = ruling.demands
  if (rest === "" && method === "GET")
    return ok(github.answer(`GET ${ofRepository}`, { id: 5, default_branch: "main", ...repository }))
  if (rest === "/rulesets/2" && bypass !== undefined)
    return ok(github.answer(`GET ${ofRepository}/rulesets/{ruleset_id}`, { id: 2, current_user_can_bypass: bypass }))
  if (/^\/branches\/[^/]+\/protection$/.test(rest))
    return protection === undefined
      ? { status: 403, body: { message: "Resource not accessible by integration", status: "403" } }
      : ok(protection)
  if (rest.startsWith("/rules/branches/")) return ok(githubRules(ruling))
  const removed = named(/^\/git\/refs\/heads\/(.+)$/, rest)
  const read = named(/^\/branches\/([^/]+)$/, rest)
  return (
    (method === "DELETE" ? branchAnswer(ruling, method, removed, () => undefined) : undefined) ??
    (method === "GET"
      ? branchAnswer(ruling, method, read, (sha) => githubBranch(ruling, read ?? "", sha))
      : undefined) ??
    permission(ruling, rest, (login, word) =>
      github.answer(`GET ${ofRepository}/collaborators/{username}/permission`, {
        permission: word,
        role_name: word,
        user: userOf(login)
      })
    )
  )
}

export const gitlabRuling: RulingRoute = (ruling, method, rest, url) => {
  if (rest === "" && method === "GET")
    return ok(gitlab.answer(`GET ${ofProject}`, { id: 3, merge_method: "merge", ...ruling.demands.repository }))
  if (rest === "/members/all") {
    const username = url.searchParams.get("query") ?? ""
    const member = (parts: object) => gitlab.item(`GET ${ofProject}/members/all`, { ...parts })
    return ok([
      member({ ...gitlabUser(`${username}-2`), id: 1, access_level: 50 }),
      member({ ...gitlabUser(username), id: 2, access_level: ruling.readers.has(username) ? 20 : 30 })
    ])
  }
  const name = named(/^\/repository\/branches\/([^/]+)$/, rest)
  return branchAnswer(ruling, method, name, (id) =>
    gitlab.answer(`GET ${ofProject}/repository/branches/{branch}`, {
      name,
      commit: ruling.odd.headless ? headless : { id }
    })
  )
}

/** A repository of Gitea allows each way to merge as long as nobody says otherwise. */
const allowed = {
  allow_merge_commits: true,
  allow_rebase: true,
  allow_rebase_explicit: true,
  allow_squash_merge: true,
  has_pull_requests: true
}

export const giteaRuling: RulingRoute = (ruling, method, rest) => {
  const { branch = {}, protection, repository = {} } = ruling.demands
  if (rest === "" && method === "GET")
    return ok(gitea.answer(`GET ${ofRepository}`, { id: 5, default_branch: "main", ...allowed, ...repository }))
  if (rest === "/branch_protections/main" && protection !== undefined)
    return ok(gitea.answer(`GET ${ofRepository}/branch_protections/{name}`, protection))
  const isChecked = ruling.required.length > 0
  const name = named(/^\/branches\/([^/]+)$/, rest)
  const shown = (id: string) =>
    gitea.answer(`GET ${ofRepository}/branches/{branch}`, {
      name,
      commit: ruling.odd.headless ? headless : { id },
      protected: isChecked,
      enable_status_check: isChecked,
      status_check_contexts: ruling.required,
      user_can_push: true,
      user_can_merge: true,
      ...branch
    })
  return (
    branchAnswer(ruling, method, name, shown) ??
    permission(ruling, rest, (login, word) =>
      gitea.answer(`GET ${ofRepository}/collaborators/{collaborator}/permission`, {
        permission: word,
        role_name: word,
        user: giteaAccount(login)
      })
    )
  )
}
