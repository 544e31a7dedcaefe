import { readEach } from "@reins/base/base/ForeignList"
import { adorns } from "@reins/base/base/ForeignText"
import type { MergeMethod } from "@reins/base/domain/MergeMethod"
import { Effect, Schema } from "effect"
import type { BranchDemand } from "./BranchDemands.js"
import type { BranchRules, RepositoryAccess } from "./BranchRules.js"
import { type Ask, decodeAnswer, type ForgeError, type Refusal, refusedBy } from "./Forge.js"
import { listIn } from "./Viewing.js"

// Reads what forges demand of a branch, and who may write to a repository.

/** A read that the forge may refuse the token: null then. A pause of the forge, a bad token and a forge that is down stay failures. */
export const ifShown = <A>(read: Effect.Effect<A, ForgeError | Refusal>): Effect.Effect<A | null, ForgeError> =>
  read.pipe(
    Effect.catchTag("Refusal", (refusal) => Effect.fail(refusedBy("The forge", refusal))),
    Effect.catchIf(
      ({ kind }) => kind === "forbidden" || kind === "not_found" || kind === "rejected",
      () => Effect.succeed(null)
    )
  )

const Flag = adorns(Schema.Boolean)

const GiteaBranch = Schema.Struct({
  enable_status_check: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  status_check_contexts: Schema.optionalWith(Schema.NullOr(Schema.Array(Schema.String)), { default: () => null }),
  required_approvals: Schema.optionalWith(Schema.NullOr(Schema.Int), { default: () => null }),
  user_can_merge: Flag,
  effective_branch_protection_name: adorns(Schema.String)
})

const GiteaProtection = Schema.Struct({ dismiss_stale_approvals: Flag, ignore_stale_approvals: Flag })

const GiteaRepository = Schema.Struct({
  allow_merge_commits: Flag,
  allow_squash_merge: Flag,
  allow_rebase: Flag
})

/**
 * Gitea tells with a branch what the rule for it demands. Names are patterns there. Gitea holds everybody to the rest at the merge, because nobody is asked
 * here to force one.
 */
export const giteaRules = (ask: Ask, repository: string) =>
  Effect.fnUntraced(function* (base: string): Effect.fn.Return<BranchRules, ForgeError> {
    const root = `/repos/${repository}`
    const read = <A, I>(path: string, schema: Schema.Schema<A, I>) =>
      ifShown(Effect.flatMap(ask({ method: "GET", path }), decodeAnswer(schema)))
    const found = yield* read(`${root}/branches/${encodeURIComponent(base)}`, GiteaBranch)
    const methods = giteaMethods(yield* read(root, GiteaRepository))
    if (found === null) return { requiredChecks: null, demands: methods }
    const checks = found.enable_status_check ? (found.status_check_contexts ?? []) : []
    const count = found.required_approvals ?? 0
    const rule = found.effective_branch_protection_name ?? ""
    // Administrators of the repository alone are shown it.
    const protection =
      count > 0 && rule !== ""
        ? yield* read(`${root}/branch_protections/${encodeURIComponent(rule)}`, GiteaProtection)
        : null
    const ofHead = protection?.dismiss_stale_approvals === true || protection?.ignore_stale_approvals === true
    const demands: ReadonlyArray<BranchDemand> = [
      ...checks.map((context) => ({ kind: "check" as const, context, app: null, passable: true })),
      ...(count > 0 ? [{ kind: "approvals" as const, count, ofHead, passable: true }] : []),
      ...(found.user_can_merge === false
        ? [
            {
              kind: "rule" as const,
              rule: "user_can_merge",
              say: "The account of the token may not merge into this branch.",
              passable: true
            }
          ]
        : []),
      ...methods
    ]
    return { requiredChecks: checks, demands }
  })

const giteaMethods = (found: typeof GiteaRepository.Type | null): ReadonlyArray<BranchDemand> => {
  if (found === null) return []
  const allowed = { merge: found.allow_merge_commits, squash: found.allow_squash_merge, rebase: found.allow_rebase }
  const methods = allMethods.filter((method) => allowed[method] !== false)
  return methods.length === allMethods.length ? [] : [{ kind: "methods", methods, passable: false }]
}

const allMethods: ReadonlyArray<MergeMethod> = ["merge", "squash", "rebase"]

const GitLabProject = Schema.Struct({
  squash_option: adorns(Schema.String),
  only_allow_merge_if_all_discussions_are_resolved: Flag
})

/** GitLab demands pipelines as a whole and names no check, so all that reported count. Its word on the merge request tells of all other demands. */
export const gitLabRules = (ask: Ask, project: string): Effect.Effect<BranchRules, ForgeError> =>
  ifShown(Effect.flatMap(ask({ method: "GET", path: project }), decodeAnswer(GitLabProject))).pipe(
    Effect.map((found) => ({
      requiredChecks: [],
      demands: [
        ...(found?.squash_option === "never"
          ? [{ kind: "methods" as const, methods: ["merge" as const], passable: false }]
          : []),
        ...(found?.squash_option === "always"
          ? [{ kind: "methods" as const, methods: ["squash" as const], passable: false }]
          : []),
        ...(found?.only_allow_merge_if_all_discussions_are_resolved === true
          ? [{ kind: "threads" as const, passable: true }]
          : [])
      ]
    }))
  )

const Permission = Schema.Struct({ permission: Schema.String })

const permissions: ReadonlyMap<string, RepositoryAccess> = new Map([
  ["owner", "write"],
  ["admin", "write"],
  ["write", "write"],
  ["read", "read"],
  ["none", "none"]
])

/** GitHub and Gitea tell the permission of an account. One that they do not have has none. */
export const permissionOf = (ask: Ask, repository: string) => (login: string) =>
  ifShown(
    ask({ method: "GET", path: `/repos/${repository}/collaborators/${encodeURIComponent(login)}/permission` }).pipe(
      Effect.flatMap(decodeAnswer(Permission)),
      Effect.map(({ permission }) => permissions.get(permission) ?? null),
      Effect.catchTag("Refusal", (refusal) =>
        refusal.status === 404 ? Effect.succeed("none" as const) : Effect.fail(refusal)
      )
    )
  )

const Member = Schema.Struct({ username: Schema.String, access_level: Schema.Int })

/** Developers of GitLab and those above may push. */
const developer = 30

export const memberAccessOf = (ask: Ask, project: string) => (login: string) =>
  ifShown(
    Effect.flatMap(
      ask({ method: "GET", path: `${project}/members/all?query=${encodeURIComponent(login)}&per_page=100` }),
      listIn
    )
  ).pipe(
    Effect.map((members): RepositoryAccess | null => {
      if (members === null) return null
      const { items, odd } = readEach(Member)(members)
      const member = items.find(({ username }) => username === login)
      // One that cannot be read may be this one.
      if (member === undefined) return odd.length > 0 ? null : "none"
      return member.access_level >= developer ? "write" : "read"
    })
  )

const Head = Schema.Struct({
  commit: Schema.Struct({ sha: Schema.optional(Schema.String), id: Schema.optional(Schema.String) })
})

/** Removes a branch that still stands at a commit. One that is gone, or has moved, is left alone. */
export const branchRemoval =
  (ask: Ask, paths: { readonly read: (branch: string) => string; readonly remove: (branch: string) => string }) =>
  (branch: string, head: string): Effect.Effect<void, ForgeError> =>
    Effect.gen(function* () {
      const found = yield* ifShown(Effect.flatMap(ask({ method: "GET", path: paths.read(branch) }), decodeAnswer(Head)))
      if (found === null || (found.commit.sha ?? found.commit.id) !== head) return
      yield* ifShown(Effect.asVoid(ask({ method: "DELETE", path: paths.remove(branch) })))
    })
