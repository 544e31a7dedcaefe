import { oddText, readEach } from "@reins/base/base/ForeignList"
import { adorns, foreignName } from "@reins/base/base/ForeignText"
import type { MergeMethod } from "@reins/base/domain/MergeMethod"
import { Effect, Schema } from "effect"
import type { BranchDemand } from "./BranchDemands.js"
import type { BranchRules } from "./BranchRules.js"
import { type Ask, decodeAnswer, type ForgeError } from "./Forge.js"
import { ifShown } from "./RuleReads.js"

/** More names than these are left out of a sentence. */
const mostNamed = 10

// Reads what GitHub demands of a branch: its rulesets, the protection from before them, and the settings of the repository.

const Methods = Schema.Array(Schema.String)

const Check = Schema.Struct({
  context: Schema.String,
  integration_id: Schema.optionalWith(Schema.NullOr(Schema.Int), { default: () => null })
})

const Flag = Schema.optionalWith(Schema.NullOr(Schema.Boolean), { default: () => null })

const Parameters = Schema.Struct({
  required_status_checks: Schema.optional(Schema.Array(Check)),
  required_approving_review_count: Schema.optional(Schema.Int),
  dismiss_stale_reviews_on_push: Flag,
  require_code_owner_review: Flag,
  require_last_push_approval: Flag,
  required_review_thread_resolution: Flag,
  allowed_merge_methods: Schema.optional(Schema.NullOr(Methods)),
  required_reviewers: Schema.optional(Schema.NullOr(Schema.Array(Schema.Unknown))),
  required_deployment_environments: Schema.optional(Schema.Array(Schema.String)),
  merge_method: Schema.optional(Schema.String)
})

const Rule = Schema.Struct({
  type: Schema.String,
  ruleset_id: adorns(Schema.Int),
  parameters: Schema.optional(Schema.NullOr(Parameters))
})
type Rule = typeof Rule.Type

const Bypass = Schema.Struct({ current_user_can_bypass: adorns(Schema.String) })

const Repository = Schema.Struct({
  allow_merge_commit: adorns(Schema.Boolean),
  allow_squash_merge: adorns(Schema.Boolean),
  allow_rebase_merge: adorns(Schema.Boolean)
})

const ProtectedBranch = Schema.Struct({
  protection: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        enabled: Flag,
        required_status_checks: Schema.optional(
          Schema.NullOr(
            Schema.Struct({
              contexts: Schema.optional(Schema.Array(Schema.String)),
              checks: Schema.optional(
                Schema.Array(
                  Schema.Struct({ context: Schema.String, app_id: Schema.optional(Schema.NullOr(Schema.Int)) })
                )
              )
            })
          )
        )
      })
    )
  )
})

const Switch = Schema.optional(Schema.NullOr(Schema.Struct({ enabled: Schema.Boolean })))

const Protection = Schema.Struct({
  enforce_admins: Switch,
  required_pull_request_reviews: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        required_approving_review_count: Schema.optional(Schema.Int),
        dismiss_stale_reviews: Flag,
        require_code_owner_reviews: Flag,
        require_last_push_approval: Flag
      })
    )
  ),
  required_conversation_resolution: Switch,
  required_linear_history: Switch,
  required_signatures: Switch,
  lock_branch: Switch
})

/** A star in a name of GitHub is a star, and a question mark takes any character. */
const literally = (name: string): string => name.replaceAll("*", "?")

/** Rules that say nothing about the merge of a request. */
const elsewhere: ReadonlySet<string> = new Set([
  "creation",
  "deletion",
  "non_fast_forward",
  "branch_name_pattern",
  "tag_name_pattern",
  "copilot_code_review"
])

/** Rules that this service cannot judge, and what they demand. */
const sentences: Readonly<Record<string, string>> = {
  update: "Only those who may pass the rule by may change the branch.",
  required_signatures: "Every commit has to have a verified signature.",
  required_deployments: "The change has to be deployed first.",
  commit_message_pattern: "The messages of the commits have to fit a pattern.",
  commit_author_email_pattern: "The addresses of the authors have to fit a pattern.",
  committer_email_pattern: "The addresses of the committers have to fit a pattern.",
  workflows: "Workflows of the organisation have to pass.",
  code_scanning: "A code scan has to find nothing.",
  code_quality: "A check of the quality has to find nothing.",
  license_compliance_scanning: "A check of the licences has to find nothing.",
  file_path_restriction: "The change may not touch some paths.",
  max_file_path_length: "Paths may not be too long.",
  file_extension_restriction: "Some kinds of files may not be changed.",
  max_file_size: "Files may not be too large."
}

const codeOwners = "A code owner has to approve, and the forge does not tell who is one."
const squashOrRebase: ReadonlyArray<MergeMethod> = ["squash", "rebase"]
const known: ReadonlyArray<MergeMethod> = ["merge", "squash", "rebase"]
const methodsOf = (names: ReadonlyArray<string>) => known.filter((method) => names.includes(method))

interface ReviewDemands {
  readonly count: number
  readonly isStale: boolean
  readonly codeOwner: boolean
  readonly lastPush: boolean
}

const reviewDemands = (given: ReviewDemands, passable: boolean): ReadonlyArray<BranchDemand> => [
  ...(given.count > 0
    ? [{ kind: "approvals" as const, count: given.count, ofHead: given.isStale || given.lastPush, passable }]
    : []),
  ...(given.lastPush ? [{ kind: "last_push" as const, passable }] : []),
  ...(given.codeOwner ? [{ kind: "rule" as const, rule: "code_owner_review", say: codeOwners, passable }] : [])
]

const ofPullRequest = (given: typeof Parameters.Type, passable: boolean): ReadonlyArray<BranchDemand> => [
  ...reviewDemands(
    {
      count: given.required_approving_review_count ?? 0,
      isStale: given.dismiss_stale_reviews_on_push === true,
      codeOwner: given.require_code_owner_review === true,
      lastPush: given.require_last_push_approval === true
    },
    passable
  ),
  ...(given.required_review_thread_resolution === true ? [{ kind: "threads" as const, passable }] : []),
  ...(given.allowed_merge_methods == null
    ? []
    : [{ kind: "methods" as const, methods: methodsOf(given.allowed_merge_methods), passable }]),
  ...((given.required_reviewers ?? []).length > 0
    ? [
        {
          kind: "rule" as const,
          rule: "required_reviewers",
          say: "Reviewers that the rule names have to approve.",
          passable
        }
      ]
    : [])
]

const longestType = 60

/** The demand of one rule of a ruleset. A rule of an unknown type demands something unknown. */
const demandsOf = ({ parameters, type }: Rule, passable: boolean): ReadonlyArray<BranchDemand> => {
  if (elsewhere.has(type)) return []
  switch (type) {
    case "pull_request":
      return parameters == null ? [unreadable(type, passable)] : ofPullRequest(parameters, passable)
    case "required_status_checks":
      return (parameters?.required_status_checks ?? []).map(({ context, integration_id: app }) => ({
        kind: "check" as const,
        context: literally(context),
        app: appOf(app),
        passable
      }))
    case "required_linear_history":
      return [{ kind: "methods", methods: squashOrRebase, passable }]
    case "merge_queue":
      return [{ kind: "queue", passable }]
    case "required_deployments": {
      const names = (parameters?.required_deployment_environments ?? []).map((name) => foreignName(name, longestType))
      const say = `The change has to be deployed first${names.length === 0 ? "" : `, to ${names.slice(0, mostNamed).join(", ")}`}.`
      return [{ kind: "rule", rule: type, say, passable }]
    }
    default: {
      const say = Object.hasOwn(sentences, type) ? sentences[type] : undefined
      return [say === undefined ? unreadable(type, passable) : { kind: "rule", rule: type, say, passable }]
    }
  }
}

const unreadable = (type: string, passable: boolean): BranchDemand => {
  const rule = foreignName(type, longestType)
  return { kind: "rule", rule, say: `The forge has a rule ${JSON.stringify(rule)} that is not known here.`, passable }
}

/** The number -1 stands for any app. */
const appOf = (id: number | null | undefined): number | null => (id == null || id < 0 ? null : id)

const mostRulesets = 10

/** Gives the rulesets that the token cannot pass by. */
const firmRulesets = Effect.fnUntraced(function* (ask: Ask, root: string, rules: ReadonlyArray<Rule>) {
  const counting = rules.filter((rule) => demandsOf(rule, true).some(({ kind }) => kind !== "check"))
  const ids = [...new Set(counting.flatMap(({ ruleset_id }) => (ruleset_id === null ? [] : [ruleset_id])))]
  const firm = new Set<number>()
  for (const id of ids.slice(0, mostRulesets)) {
    const path = `${root}/rulesets/${id}?includes_parents=true`
    const found = yield* ifShown(Effect.flatMap(ask({ method: "GET", path }), decodeAnswer(Bypass)))
    if (found?.current_user_can_bypass === "never") firm.add(id)
  }
  return firm
})

/** The protection of a branch, which the forge shows to administrators alone. One that is no administrator cannot pass it by. */
const protectionDemands = Effect.fnUntraced(function* (ask: Ask, path: string) {
  const found = yield* ifShown(
    Effect.flatMap(ask({ method: "GET", path: `${path}/protection` }), decodeAnswer(Protection))
  )
  if (found === null)
    return [
      {
        kind: "rule",
        rule: "branch_protection",
        say: "The forge does not show the protection of the branch to the token.",
        passable: false
      }
    ] satisfies ReadonlyArray<BranchDemand>
  const passable = found.enforce_admins?.enabled !== true
  const reviews = found.required_pull_request_reviews
  const rule = (name: string, on: typeof found.lock_branch, say: string): ReadonlyArray<BranchDemand> =>
    on?.enabled === true ? [{ kind: "rule", rule: name, say, passable }] : []
  const demands: ReadonlyArray<BranchDemand> = [
    ...(reviews == null
      ? []
      : reviewDemands(
          {
            count: reviews.required_approving_review_count ?? 0,
            isStale: reviews.dismiss_stale_reviews === true,
            codeOwner: reviews.require_code_owner_reviews === true,
            lastPush: reviews.require_last_push_approval === true
          },
          passable
        )),
    ...(found.required_conversation_resolution?.enabled === true ? [{ kind: "threads" as const, passable }] : []),
    ...(found.required_linear_history?.enabled === true
      ? [{ kind: "methods" as const, methods: squashOrRebase, passable }]
      : []),
    ...rule("required_signatures", found.required_signatures, "Every commit has to have a verified signature."),
    ...rule("lock_branch", found.lock_branch, "The branch is locked, so nothing is merged into it.")
  ]
  return demands
})

const settingDemands = Effect.fnUntraced(function* (ask: Ask, root: string) {
  const found = yield* ifShown(Effect.flatMap(ask({ method: "GET", path: root }), decodeAnswer(Repository)))
  if (found === null) return []
  const allowed = {
    merge: found.allow_merge_commit,
    squash: found.allow_squash_merge,
    rebase: found.allow_rebase_merge
  }
  const methods = known.filter((method) => allowed[method] !== false)
  return methods.length === known.length ? [] : [{ kind: "methods" as const, methods, passable: false }]
})

const mostRules = 100

/** GitHub has rulesets and, from before them, the protection of a branch. Both count. */
export const gitHubRules = (ask: Ask, repository: string) =>
  Effect.fnUntraced(function* (base: string): Effect.fn.Return<BranchRules, ForgeError> {
    const root = `/repos/${repository}`
    const branch = encodeURIComponent(base)
    const listed = yield* ifShown(
      Effect.flatMap(
        ask({ method: "GET", path: `${root}/rules/branches/${branch}?per_page=${mostRules}` }),
        decodeAnswer(Schema.Array(Schema.Unknown))
      )
    )
    const { items: rules, odd } = readEach(Rule)(listed ?? [])
    const found = yield* ifShown(
      Effect.flatMap(ask({ method: "GET", path: `${root}/branches/${branch}` }), decodeAnswer(ProtectedBranch))
    )
    const firm = yield* firmRulesets(ask, root, rules)
    const isProtected = found?.protection?.enabled === true
    const demands: ReadonlyArray<BranchDemand> = [
      ...rules.flatMap((rule) => demandsOf(rule, rule.ruleset_id === null || !firm.has(rule.ruleset_id))),
      ...odd.map(
        (each): BranchDemand => ({
          kind: "rule",
          rule: "unreadable",
          say: `The forge tells of the rule ${oddText(each)} in a way that is not known.`,
          passable: true
        })
      ),
      ...(rules.length + odd.length < mostRules
        ? []
        : [{ kind: "rule" as const, rule: "more", say: "The forge has more rules than are read.", passable: true }]),
      ...(isProtected ? yield* protectionDemands(ask, `${root}/branches/${branch}`) : []),
      ...classicChecks(found),
      ...(yield* settingDemands(ask, root))
    ]
    if (listed === null && found === null) return { requiredChecks: null, demands }
    const names = demands.flatMap((each) => (each.kind === "check" ? [each.context] : []))
    return { requiredChecks: [...new Set(names)], demands }
  })

/** The checks that the protection demands. Older servers name them without the app. */
const classicChecks = (found: typeof ProtectedBranch.Type | null): ReadonlyArray<BranchDemand> => {
  const { checks = [], contexts = [] } = found?.protection?.required_status_checks ?? {}
  const bound = checks.map(({ app_id, context }) => ({ context, app: appOf(app_id) }))
  const others = contexts.filter((context) => !bound.some((each) => each.context === context))
  return [...bound, ...others.map((context) => ({ context, app: null }))].map(({ app, context }) => ({
    kind: "check",
    context: literally(context),
    app,
    passable: true
  }))
}
