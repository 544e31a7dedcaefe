import type { HookKind } from "../../hooks/Hook.js"
import type { Rung } from "./MergeRequestLooks.js"

// Owns where the forges name merge requests in the bodies of their hooks. A body only says where to look, so nothing else is read.

/** A merge request as a body of a forge names it. */
export type Named = Pick<Rung, "headBranch" | "headSha" | "number">

/** The repository that a body is about, and the merge requests that it may be about. */
export interface HookNames {
  readonly repository: string
  readonly named: ReadonlyArray<Named>
}

/** The merge requests of one body. A body with more is one of a very busy commit, and the next look finds the others. */
const mostNamed = 20

/** The value at the end of a chain of names; undefined for none. */
const at = (body: unknown, ...names: ReadonlyArray<string>): unknown => {
  let value = body
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
    value = Object.getOwnPropertyDescriptor(value, name)?.value
  }
  return value
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.length > 0 && value.length <= 300 && !value.includes("\0") ? value : undefined

const byNumber = (value: unknown): ReadonlyArray<Named> =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value < 2 ** 31 ? [{ number: value }] : []

const bySha = (value: unknown): ReadonlyArray<Named> =>
  typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value) ? [{ headSha: value }] : []

const byBranch = (value: unknown): ReadonlyArray<Named> => {
  const headBranch = textOf(value)
  return headBranch === undefined ? [] : [{ headBranch }]
}

/** A push names a branch by its whole ref. Tags are of no merge request. */
const byRef = (value: unknown): ReadonlyArray<Named> => {
  const ref = textOf(value)
  return ref?.startsWith("refs/heads/") === true ? byBranch(ref.slice("refs/heads/".length)) : []
}

/** A comment on a pull request is one on an issue, which then says so. Gitea says null of any other issue. */
const byRequestOfIssue = (body: unknown): ReadonlyArray<Named> =>
  at(body, "issue", "pull_request") == null ? [] : byNumber(at(body, "issue", "number"))

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value.slice(0, mostNamed) : [])

const ofGitHub = (body: unknown): ReadonlyArray<Named> => [
  ...byNumber(at(body, "pull_request", "number")),
  ...byRequestOfIssue(body),
  ...["check_run", "check_suite", "workflow_run", "workflow_job"].flatMap((check) => [
    // The list is empty for forks, so the commit counts too.
    ...listOf(at(body, check, "pull_requests")).flatMap((pull) => byNumber(at(pull, "number"))),
    ...bySha(at(body, check, "head_sha"))
  ]),
  ...(at(body, "context") === undefined ? [] : bySha(at(body, "sha"))),
  ...byRef(at(body, "ref"))
]

const ofGitLab = (body: unknown): ReadonlyArray<Named> => {
  const kind = at(body, "object_kind")
  return [
    ...(kind === "merge_request" ? byNumber(at(body, "object_attributes", "iid")) : []),
    ...byNumber(at(body, "merge_request", "iid")),
    ...(kind === "pipeline" ? bySha(at(body, "object_attributes", "sha")) : []),
    ...(kind === "build" ? bySha(at(body, "sha")) : []),
    ...(kind === "push" ? byRef(at(body, "ref")) : [])
  ]
}

const ofGitea = (body: unknown): ReadonlyArray<Named> => [
  ...byNumber(at(body, "pull_request", "number")),
  ...(at(body, "is_pull") === true ? byNumber(at(body, "issue", "number")) : byRequestOfIssue(body)),
  ...["workflow_run", "workflow_job"].flatMap((run) => bySha(at(body, run, "head_sha"))),
  ...(at(body, "context") === undefined ? [] : bySha(at(body, "sha"))),
  ...byRef(at(body, "ref"))
]

const fullName = (body: unknown): string | undefined => textOf(at(body, "repository", "full_name"))

/** A body of GitLab about a job names no project, but the page of its repository. */
const projectOf = (body: unknown): string | undefined => {
  const named = textOf(at(body, "project", "path_with_namespace"))
  const page = textOf(at(body, "repository", "homepage"))
  if (named !== undefined || page === undefined || !URL.canParse(page)) return named
  return textOf(new URL(page).pathname.slice(1))
}

const forges = {
  github: { named: ofGitHub, repositoryOf: fullName },
  gitlab: { named: ofGitLab, repositoryOf: projectOf },
  gitea: { named: ofGitea, repositoryOf: fullName }
} as const

/** The merge requests that a call of a hook may be about; undefined when it is about none, or comes from no forge. */
export const requestsIn = (kind: HookKind, body: unknown): HookNames | undefined => {
  if (kind === "standard" || kind === "token") return undefined
  const forge = forges[kind]
  const repository = forge.repositoryOf(body)
  const named = forge.named(body).slice(0, mostNamed)
  return repository === undefined || named.length === 0 ? undefined : { repository, named }
}
