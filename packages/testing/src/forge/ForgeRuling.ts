import type { Answer, Branches } from "./ForgeServer.js"

/** The demands of a server before a merge, and those who may write to it. */
export interface Ruling {
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

const permission = (ruling: Ruling, rest: string): Answer | undefined => {
  const login = named(/^\/collaborators\/([^/]+)\/permission$/, rest)
  return login === undefined ? undefined : ok({ permission: ruling.readers.has(login) ? "read" : "write" })
}

export const githubRuling: RulingRoute = (ruling, method, rest) => {
  if (rest.startsWith("/rules/branches/")) {
    const checks = ruling.required.slice(0, 1).map((context) => ({ context, integration_id: 15368 }))
    return ok([
      { type: "deletion", ruleset_id: 1 },
      {
        type: "required_status_checks",
        ruleset_id: 1,
        parameters: { strict_required_status_checks_policy: false, required_status_checks: checks }
      }
    ])
  }
  // The others are those of the protection from before rulesets.
  const contexts = ruling.required.slice(1)
  const removed = named(/^\/git\/refs\/heads\/(.+)$/, rest)
  return (
    (method === "DELETE" ? branchAnswer(ruling, method, removed, () => undefined) : undefined) ??
    (method === "GET"
      ? branchAnswer(ruling, method, named(/^\/branches\/([^/]+)$/, rest), (sha) => ({
          commit: ruling.odd.headless ? {} : { sha },
          protected: contexts.length > 0,
          protection: { enabled: contexts.length > 0, required_status_checks: { contexts, checks: [] } }
        }))
      : undefined) ??
    permission(ruling, rest)
  )
}

export const gitlabRuling: RulingRoute = (ruling, method, rest, url) => {
  if (rest === "/members/all") {
    const username = url.searchParams.get("query") ?? ""
    return ok([
      { id: 1, username: `${username}-2`, access_level: 50 },
      { id: 2, username, access_level: ruling.readers.has(username) ? 20 : 30 }
    ])
  }
  const name = named(/^\/repository\/branches\/([^/]+)$/, rest)
  return branchAnswer(ruling, method, name, (id) => ({ commit: ruling.odd.headless ? {} : { id } }))
}

export const giteaRuling: RulingRoute = (ruling, method, rest) =>
  branchAnswer(ruling, method, named(/^\/branches\/([^/]+)$/, rest), (id) => ({
    commit: ruling.odd.headless ? {} : { id },
    protected: ruling.required.length > 0,
    enable_status_check: ruling.required.length > 0,
    status_check_contexts: ruling.required
  })) ?? permission(ruling, rest)
