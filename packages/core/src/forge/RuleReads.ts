import { Effect, Schema } from "effect"
import type { BranchRules, RepositoryAccess } from "./BranchRules.js"
import { type Ask, decodeAnswer, ForgeError, type Refusal, refusedWith } from "./Forge.js"

// Reads what forges demand of a branch, and who may write to a repository.

const refusalText = (refusal: Refusal): ForgeError =>
  new ForgeError({
    kind: refusal.status === 404 ? "not_found" : "rejected",
    message: `The forge does not show this (${refusedWith(refusal)})`
  })

/** A read that the forge may refuse the token: null then. A pause of the forge, a bad token and a forge that is down stay failures. */
const ifShown = <A>(read: Effect.Effect<A, ForgeError | Refusal>): Effect.Effect<A | null, ForgeError> =>
  read.pipe(
    Effect.catchTag("Refusal", (refusal) => Effect.fail(refusalText(refusal))),
    Effect.catchIf(
      ({ kind }) => kind === "forbidden" || kind === "not_found" || kind === "rejected",
      () => Effect.succeed(null)
    )
  )

const Rules = Schema.Array(
  Schema.Struct({
    type: Schema.String,
    parameters: Schema.optional(
      Schema.Struct({
        required_status_checks: Schema.optional(Schema.Array(Schema.Struct({ context: Schema.String })))
      })
    )
  })
)

const ProtectedBranch = Schema.Struct({
  protection: Schema.optional(
    Schema.Struct({
      required_status_checks: Schema.optional(
        Schema.NullOr(Schema.Struct({ contexts: Schema.optional(Schema.Array(Schema.String)) }))
      )
    })
  )
})

/** GitHub has rulesets and, from before them, the protection of a branch. Both count. */
export const gitHubRules = (ask: Ask, repository: string) =>
  Effect.fnUntraced(function* (base: string): Effect.fn.Return<BranchRules, ForgeError> {
    const branch = encodeURIComponent(base)
    const rules = yield* ifShown(
      Effect.flatMap(
        ask({ method: "GET", path: `/repos/${repository}/rules/branches/${branch}?per_page=100` }),
        decodeAnswer(Rules)
      )
    )
    const found = yield* ifShown(
      Effect.flatMap(
        ask({ method: "GET", path: `/repos/${repository}/branches/${branch}` }),
        decodeAnswer(ProtectedBranch)
      )
    )
    if (rules === null && found === null) return { requiredChecks: null }
    const ruled = (rules ?? []).flatMap(({ parameters, type }) =>
      type === "required_status_checks" ? (parameters?.required_status_checks ?? []) : []
    )
    const names = [
      ...ruled.map(({ context }) => context),
      ...(found?.protection?.required_status_checks?.contexts ?? [])
    ]
    return { requiredChecks: [...new Set(names)].map(literally) }
  })

const GiteaBranch = Schema.Struct({
  enable_status_check: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  status_check_contexts: Schema.optionalWith(Schema.NullOr(Schema.Array(Schema.String)), { default: () => null })
})

/** Gitea tells with a branch what the rule for it demands. Names are patterns there. */
export const giteaRules = (ask: Ask, repository: string) =>
  Effect.fnUntraced(function* (base: string): Effect.fn.Return<BranchRules, ForgeError> {
    const found = yield* ifShown(
      Effect.flatMap(
        ask({ method: "GET", path: `/repos/${repository}/branches/${encodeURIComponent(base)}` }),
        decodeAnswer(GiteaBranch)
      )
    )
    if (found === null) return { requiredChecks: null }
    return { requiredChecks: found.enable_status_check ? (found.status_check_contexts ?? []) : [] }
  })

/** A star in a name of GitHub is a star, and a question mark takes any character. */
const literally = (name: string): string => name.replaceAll("*", "?")

const Permission = Schema.Struct({ permission: Schema.String })

/** GitHub and Gitea tell the permission of an account. An account that the forge does not show has none. */
export const permissionOf = (ask: Ask, repository: string) => (login: string) =>
  ifShown(
    Effect.flatMap(
      ask({ method: "GET", path: `/repos/${repository}/collaborators/${encodeURIComponent(login)}/permission` }),
      decodeAnswer(Permission)
    )
  ).pipe(
    Effect.map((answer): RepositoryAccess => {
      if (answer === null) return "none"
      if (["owner", "admin", "write"].includes(answer.permission)) return "write"
      return answer.permission === "read" ? "read" : "none"
    })
  )

const Members = Schema.Array(Schema.Struct({ username: Schema.String, access_level: Schema.Int }))

/** Developers of GitLab and those above may push. */
const developer = 30

export const memberAccessOf = (ask: Ask, project: string) => (login: string) =>
  ifShown(
    Effect.flatMap(
      ask({ method: "GET", path: `${project}/members/all?query=${encodeURIComponent(login)}&per_page=100` }),
      decodeAnswer(Members)
    )
  ).pipe(
    Effect.map((members): RepositoryAccess => {
      const member = (members ?? []).find(({ username }) => username === login)
      if (member === undefined) return "none"
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
