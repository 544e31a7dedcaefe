import { assert, describe, it } from "@effect/vitest"
import type { BranchDemand } from "@reins/machine/forge/BranchDemands"
import { fitsCheck } from "@reins/machine/forge/BranchRules"
import { Effect } from "effect"
import type { Demanded } from "./ForgeRuling.js"
import { allowed, type ForgeSubject, forgeOf, request } from "./ForgeSuite.js"

const nothing = { rules: undefined, bypass: undefined, protection: undefined, repository: undefined, branch: undefined }

/** A demand on one line. A question mark stands for one that the token may pass by. */
const inShort = (demand: BranchDemand): string => {
  const { kind, passable } = demand
  const what =
    kind === "approvals"
      ? `${demand.count}${demand.ofHead ? " of head" : ""}`
      : kind === "check"
        ? `${demand.context} by ${demand.app}`
        : kind === "methods"
          ? demand.methods.join()
          : kind === "rule"
            ? demand.rule
            : ""
  return `${kind} ${what}`.trim() + (passable ? "?" : "")
}

const ruleOf = (type: string, parameters?: unknown) => ({ rules: [{ type, ruleset_id: 2, parameters }] })
const firm = { bypass: "never" }

type Row = readonly [given: Demanded, demands: ReadonlyArray<string>]

/** The names are those of the published schemas. */
const demanded: Readonly<Record<string, ReadonlyArray<Row>>> = {
  github: [
    [ruleOf("pull_request", { required_approving_review_count: 2 }), ["approvals 2?"]],
    [{ ...ruleOf("pull_request", { required_approving_review_count: 2 }), ...firm }, ["approvals 2"]],
    [
      { ...ruleOf("pull_request", { required_approving_review_count: 2 }), bypass: "pull_requests_only" },
      ["approvals 2?"]
    ],
    [{ ...ruleOf("pull_request", { required_approving_review_count: 2 }), bypass: "exempt" }, ["approvals 2?"]],
    [
      ruleOf("pull_request", {
        allowed_merge_methods: ["squash", "rebase"],
        dismiss_stale_reviews_on_push: true,
        require_code_owner_review: true,
        require_last_push_approval: true,
        required_approving_review_count: 1,
        required_review_thread_resolution: true,
        required_reviewers: [{ minimum_approvals: 1 }]
      }),
      [
        "approvals 1 of head?",
        "last_push?",
        "rule code_owner_review?",
        "threads?",
        "methods squash,rebase?",
        "rule required_reviewers?"
      ]
    ],
    [ruleOf("pull_request", { required_approving_review_count: 0 }), []],
    [ruleOf("pull_request"), ["rule pull_request?"]],
    [ruleOf("required_linear_history"), ["methods squash,rebase?"]],
    [ruleOf("merge_queue", { merge_method: "SQUASH" }), ["queue?"]],
    [ruleOf("required_deployments", { required_deployment_environments: ["staging"] }), ["rule required_deployments?"]],
    ...[
      "update",
      "required_signatures",
      "workflows",
      "code_scanning",
      "commit_message_pattern",
      "commit_author_email_pattern",
      "committer_email_pattern",
      "license_compliance_scanning",
      "file_path_restriction",
      "max_file_path_length",
      "file_extension_restriction",
      "max_file_size",
      "a_rule_of_tomorrow",
      "constructor"
    ].map((type): Row => [ruleOf(type, {}), [`rule ${type}?`]]),
    ...[
      "creation",
      "deletion",
      "non_fast_forward",
      "branch_name_pattern",
      "tag_name_pattern",
      "copilot_code_review"
    ].map((type): Row => [ruleOf(type, {}), []]),
    [
      ruleOf("required_status_checks", {
        required_status_checks: [
          { context: "ci", integration_id: 7 },
          { context: "any", integration_id: -1 },
          { context: "old" }
        ]
      }),
      ["check ci by 7?", "check any by null?", "check old by null?"]
    ],
    [{ rules: [{ type: 5 }, { type: "required_linear_history" }] }, ["methods squash,rebase?", "rule unreadable?"]],
    [
      { repository: { allow_merge_commit: false, allow_squash_merge: true, allow_rebase_merge: false } },
      ["methods squash"]
    ],
    [{ repository: { allow_merge_commit: true, allow_squash_merge: true, allow_rebase_merge: true } }, []],
    [
      {
        branch: {
          protection: {
            enabled: true,
            required_status_checks: { contexts: ["a", "b"], checks: [{ context: "a", app_id: 9 }] }
          }
        }
      },
      ["rule branch_protection", "check a by 9?", "check b by null?"]
    ],
    [
      {
        protection: {
          enforce_admins: { enabled: true },
          required_conversation_resolution: { enabled: true },
          required_linear_history: { enabled: true },
          required_pull_request_reviews: { required_approving_review_count: 1, require_last_push_approval: true },
          required_signatures: { enabled: true }
        }
      },
      ["approvals 1 of head", "last_push", "threads", "methods squash,rebase", "rule required_signatures"]
    ],
    [
      {
        protection: {
          enforce_admins: { enabled: false },
          required_pull_request_reviews: { required_approving_review_count: 3 }
        }
      },
      ["approvals 3?"]
    ],
    [{ protection: { lock_branch: { enabled: true } } }, ["rule lock_branch?"]]
  ],
  gitlab: [
    [{ repository: { squash_option: "default_off" } }, []],
    [{ repository: { squash_option: "never" } }, ["methods merge"]],
    [{ repository: { squash_option: "always" } }, ["methods squash"]],
    [{ repository: { squash_option: 5 } }, []],
    [{ repository: { only_allow_merge_if_all_discussions_are_resolved: true } }, ["threads?"]]
  ],
  gitea: [
    [{ branch: { required_approvals: 2 } }, ["approvals 2?"]],
    [{ branch: { required_approvals: 2, effective_branch_protection_name: "main" } }, ["approvals 2?"]],
    [
      {
        branch: { required_approvals: 1, effective_branch_protection_name: "main" },
        protection: { dismiss_stale_approvals: true }
      },
      ["approvals 1 of head?"]
    ],
    [
      {
        branch: { required_approvals: 1, effective_branch_protection_name: "main" },
        protection: { ignore_stale_approvals: true }
      },
      ["approvals 1 of head?"]
    ],
    [{ branch: { user_can_merge: false } }, ["rule user_can_merge?"]],
    [{ branch: { user_can_merge: null, required_approvals: null } }, []],
    [{ repository: { allow_merge_commits: false } }, ["methods squash,rebase"]]
  ]
}

/** The promises of `Forge.rules`, `Forge.access` and `Forge.removeBranch`, for one kind of forge. */
export const forgeRulesSuite = (subject: ForgeSubject): void => {
  const { kind } = subject.forge
  describe(`rules of ${kind}`, () => {
    it.scopedLive("name the checks that the forge demands, and none where it names none", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        assert.deepStrictEqual(yield* forge.rules("main"), { requiredChecks: [], demands: [] })
        server.required.push("build (a/b)", "test")
        const { requiredChecks } = yield* forge.rules("main")
        assert.deepStrictEqual(requiredChecks, kind === "gitlab" ? [] : ["build (a/b)", "test"])
        assert.isTrue((requiredChecks ?? []).every((name) => fitsCheck(name, name)))
        server.odd.forbidden = "branches/"
        const hidden = yield* forge.rules("main")
        assert.deepStrictEqual(hidden.requiredChecks, kind === "gitlab" ? [] : null)
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("tell what the forge demands besides checks, and whether the token may pass it by", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        for (const [given, expected] of demanded[kind] ?? []) {
          Object.assign(server.demands, nothing, given)
          const { demands } = yield* forge.rules("main")
          assert.deepStrictEqual(demands.map(inShort), expected, JSON.stringify(given))
        }
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a pause of the forge is no absence of rules", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        server.canned.push({ status: 403, body: '{"message":"You have exceeded a secondary rate limit."}' })
        assert.strictEqual((yield* Effect.flip(forge.rules("main"))).kind, "rate_limited")
        server.odd.failing = kind === "gitlab" ? "/projects/" : "/branches/"
        assert.strictEqual((yield* Effect.flip(forge.rules("main"))).kind, "unavailable")
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("tell who may write, and do not know it where the forge says nothing", () =>
      Effect.gen(function* () {
        const { forge, server } = yield* forgeOf(subject)
        server.readers.add("eve")
        assert.strictEqual(yield* forge.access("bob"), "write")
        assert.strictEqual(yield* forge.access("eve"), "read")
        server.odd.forbidden = kind === "gitlab" ? "/members/" : "/collaborators/"
        assert.isNull(yield* forge.access("bob"))
      }).pipe(Effect.provide(allowed))
    )

    it.scopedLive("a branch is removed where it stands at the commit, and left alone elsewhere", () =>
      Effect.gen(function* () {
        const { forge, heads } = yield* forgeOf(subject)
        const { headSha } = yield* forge.create(request)
        yield* forge.removeBranch("work", "0".repeat(40))
        assert.strictEqual(heads.get("work"), headSha)
        yield* forge.removeBranch("work", headSha)
        assert.isUndefined(heads.get("work"))
        yield* forge.removeBranch("work", headSha)
      }).pipe(Effect.provide(allowed))
    )
  })
}
