import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { rejectionBy, wordsOfRemote } from "@reins/machine/repository/remote/Refusals"
import { type GitError, type GitErrorKind, scrub } from "@reins/machine/repository/run/GitError"
import { clonedOnce, gitLayer, put } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { variants } from "@reins/testing/Variants"
import { Effect, Redacted } from "effect"

const password = "s3cr3t-of-ann"
const credential = { username: "ann", password: Redacted.make(password) }

/** The words of a product, as its hook prints them, and what they mean. */
interface Said {
  readonly by: string
  readonly says: string
  readonly kind: GitErrorKind
  /** A part of the words that has to reach the reader. */
  readonly told: string
}

const github: ReadonlyArray<Said> = [
  {
    by: "GitHub, a large file",
    says: "error: Trace: 83e8ea79\nerror: See https://gh.io/lfs for more information.\nerror: File a/b.mov is 122.92 MB; this exceeds GitHub's file size limit of 100.00 MB\nerror: GH001: Large files detected. You may want to try Git Large File Storage - https://git-lfs.github.com.",
    kind: "too_large",
    told: "a/b.mov is 122.92 MB"
  },
  {
    by: "GitHub, a forced push",
    says: "error: GH003: Sorry, force-pushing to feature is not allowed.",
    kind: "branch_protected",
    told: "GH003"
  },
  {
    by: "GitHub, a protected branch below a warning of a large file",
    says: 'warning: GH001: Large files detected. You may want to try Git Large File Storage.\nwarning: File x.csv is 57.81 MB; this is larger than GitHub\'s recommended maximum file size of 50.00 MB\nerror: GH006: Protected branch update failed for refs/heads/main.\nerror: Required status check "ci" is expected.',
    kind: "branch_protected",
    told: 'Required status check "ci" is expected.'
  },
  {
    by: "GitHub, a private address",
    says: "error: GH007: Your push would publish a private email address.\nYou can make your email public or disable this protection by visiting:\nhttps://github.com/settings/emails",
    kind: "email_private",
    told: "https://github.com/settings/emails"
  },
  {
    by: "GitHub, secrets",
    says: "error: GH009: Secrets detected! This push failed.",
    kind: "secret_found",
    told: "GH009"
  },
  {
    by: "GitHub, push protection",
    says: "error: GH013: Repository rule violations found for refs/heads/feature.\n\n- GITHUB PUSH PROTECTION\n  —————————————————————————————————————————\n    Resolve the following violations before pushing again\n\n    - Push cannot contain secrets\n\n      —— GitHub Personal Access Token ——————————————\n       locations:\n         - commit: 3f1c\n           path: src/config.ts:7\n       (?) To push, remove secret from commit(s) or follow this URL to allow the secret.\n       https://github.com/o/r/security/secret-scanning/unblock-secret/2abc",
    kind: "secret_found",
    told: "path: src/config.ts:7"
  },
  {
    by: "GitHub, a rule",
    says: "error: GH013: Repository rule violations found for refs/heads/main.\nReview all repository rules at https://github.com/o/r/rules?ref=refs%2Fheads%2Fmain\n\n- Cannot force-push to this branch\n- Changes must be made through a pull request.",
    kind: "rule_violated",
    told: "Changes must be made through a pull request."
  }
]

const gitlab: ReadonlyArray<Said> = [
  {
    by: "GitLab, a protected branch",
    says: "GitLab: You are not allowed to push code to protected branches on this project.",
    kind: "branch_protected",
    told: "protected branches on this project"
  },
  {
    by: "GitLab, a forced push",
    says: "========================================================================\n\nGitLab: You are not allowed to force push code to a protected branch on this project.\n\n========================================================================",
    kind: "branch_protected",
    told: "GitLab: You are not allowed to force push"
  },
  {
    by: "GitLab, a secret",
    says: "PUSH BLOCKED: Secrets detected in code changes\nSecret push protection found the following secrets in commit: 3f1c\n-- .env:1 | GitLab personal access token glpat-12345678901234567890",
    kind: "secret_found",
    told: ".env:1 | GitLab personal access token ***"
  },
  {
    by: "GitLab, a rule about messages",
    says: "GitLab: Commit message does not follow the pattern 'JIRA-\\d+'",
    kind: "rule_violated",
    told: "does not follow the pattern"
  },
  {
    by: "GitLab, a large file",
    says: 'GitLab: File "video.mp4" is larger than the allowed size of 10 MiB. Use Git LFS to manage this file.',
    kind: "too_large",
    told: "video.mp4"
  },
  {
    by: "GitLab, a full repository",
    says: "GitLab: Your push has been rejected, because this repository has exceeded its size limit of 10 GiB by 3 MiB. Please contact your GitLab administrator for more information.",
    kind: "quota_exceeded",
    told: "by 3 MiB"
  },
  {
    by: "GitLab, a full namespace",
    says: "Repository storage limit of 10 GiB reached",
    kind: "quota_exceeded",
    told: "10 GiB reached"
  },
  {
    by: "GitLab, an archived project",
    says: "GitLab: You can't push code to an archived project.",
    kind: "rule_violated",
    told: "archived project"
  },
  {
    by: "GitLab, a key that may only read",
    says: "GitLab: This deploy key does not have write access to this project.",
    kind: "scope_missing",
    told: "deploy key"
  }
]

const others: ReadonlyArray<Said> = [
  {
    by: "Gitea, a protected branch",
    says: "Gitea: Not allowed to push to protected branch main",
    kind: "branch_protected",
    told: "protected branch main"
  },
  {
    by: "Forgejo, a forced push",
    says: "Forgejo: branch main is protected from force push",
    kind: "branch_protected",
    told: "Forgejo: branch main is protected"
  },
  {
    by: "Gitea, a protected file",
    says: "Gitea: branch main is protected from changing file .gitea/workflows/ci.yml",
    kind: "branch_protected",
    told: ".gitea/workflows/ci.yml"
  },
  {
    by: "Gitea, a reader",
    says: "Gitea: User permission denied for writing.",
    kind: "scope_missing",
    told: "permission denied for writing"
  },
  { by: "Forgejo, a quota", says: "Forgejo: Quota exceeded", kind: "quota_exceeded", told: "Quota exceeded" },
  {
    by: "Bitbucket, a branch for pull requests",
    says: "Branch refs/heads/main can only be modified through pull requests.\nCheck your branch permissions configuration with the project administrator.",
    kind: "branch_protected",
    told: "with the project administrator"
  },
  {
    by: "Bitbucket, a full repository",
    says: "repository is in read only mode (over 2 GB size limit).",
    kind: "quota_exceeded",
    told: "over 2 GB size limit"
  },
  {
    by: "a hook of one's own",
    says: "\u001b[31mTickets are closed on Fridays\u001b[0m\u202e",
    kind: "rule_violated",
    told: "pre-receive hook declined Tickets are closed on Fridays"
  },
  { by: "a hook that says nothing", says: "", kind: "rule_violated", told: "pre-receive hook declined" }
]

const pushing = Effect.gen(function* () {
  const fixture = yield* clonedOnce({ "a.txt": "one\n" })
  const { base, git, gitDir, workTree } = fixture
  put(workTree, "a.txt", "two\n")
  const { commit } = yield* git.snapshot({ gitDir, workTree, base })
  const push = (url: string, branch: string) =>
    git.push({ gitDir, url, commit, branch, credential, expectedHead: null, strategy: "fast_forward" })
  return { ...fixture, commit, push }
})

const judged = (error: GitError, { by, kind, told }: Said) => {
  assert.strictEqual(error.kind, kind, `${by}: ${error.message}`)
  assert.include(error.message, told, by)
  assert.notMatch(error.message, /report it|glpat-|\p{Cc}|\u202e/u, by)
  assert.isUndefined(error.mayHaveHappened, by)
}

const everything = [...github, ...gitlab, ...others]

it("the words of a hook, as git prints them, have a reason", () => {
  for (const said of everything) {
    const lines = said.says === "" ? [] : said.says.split("\n")
    const printed = scrub(lines.map((line) => `remote: ${line}\n`).join(""))
    judged(rejectionBy("pre-receive hook declined", printed, true), said)
  }
})

/** Pushes to a remote whose hook says each of these. */
const declined = (words: ReadonlyArray<Said>) =>
  Effect.gen(function* () {
    const { push, root, url } = yield* pushing
    put(url, "config", "[core]\n\tbare = true\n[http]\n\treceivepack = true\n")
    put(url, "hooks/pre-receive", `#!/bin/sh\ncat ${JSON.stringify(join(url, "said"))} >&2\nexit 1\n`, 0o755)
    const server = yield* gitHttpServer(root, null)
    for (const said of words) {
      put(url, "said", `${said.says}${said.says === "" ? "" : "\n"}`)
      judged(yield* Effect.flip(push(`${server.url}/remote.git`, "feature")), said)
    }
  }).pipe(Effect.provide(gitLayer))

/** Long words with frames, a token, colours, and no words. */
const pushed = new Set([
  "GitHub, push protection",
  "GitLab, a secret",
  "a hook of one's own",
  "a hook that says nothing"
])

it.scopedLive("a push that a hook of the remote declines has a reason, and its words", () =>
  declined(everything.filter(({ by }) => pushed.has(by)))
)
variants(() => {
  it.scopedLive("a push that a hook of the remote declines has a reason, and the words of each product", () =>
    declined(everything.filter(({ by }) => !pushed.has(by)))
  )
})

describe("a reason in the answer itself", () => {
  const cases: ReadonlyArray<readonly [string, GitErrorKind]> = [
    [
      "refusing to allow an OAuth App to create or update workflow `.github/workflows/ci.yml` without `workflow` scope",
      "scope_missing"
    ],
    [
      "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission",
      "scope_missing"
    ],
    ["push declined due to repository rule violations", "rule_violated"],
    ["push declined due to email privacy restrictions", "email_private"],
    ["protected branch hook declined", "branch_protected"],
    ["deny updating a hidden ref", "branch_protected"],
    ["branch is currently checked out", "branch_protected"],
    ["directory file conflict", "branch_in_the_way"],
    [
      "The blob object c369b024 was rejected: The object will increase this repository size by 7772458 bytes (the limit is 4194304 bytes).",
      "too_large"
    ],
    ["funny refname", "rejected"],
    ["something that nobody has seen before", "rule_violated"],
    ["Internal Server Error", "remote_unavailable"],
    ["unpacker error", "remote_unavailable"],
    ["failed to update ref", "remote_unavailable"]
  ]
  it.each(cases)("%s", (reason, kind) => {
    const error = rejectionBy(reason, scrub("remote: Resolving deltas: 100% (1/1), done.\n"), true)
    assert.strictEqual(error.kind, kind)
    assert.include(error.message, `The remote said: ${reason}`)
    assert.notInclude(rejectionBy(reason, scrub("remote: more words"), false).message, "The remote said")
  })
})

const statuses: ReadonlyArray<readonly [number, GitErrorKind, boolean]> = [
  [302, "redirected", false],
  [308, "redirected", false],
  [400, "rejected", false],
  [403, "auth_required", false],
  [404, "not_found", false],
  [410, "not_found", false],
  [413, "too_large", false],
  [422, "rejected", false],
  [451, "rejected", false],
  [429, "remote_unavailable", true],
  [500, "remote_unavailable", true],
  [503, "remote_unavailable", true]
]
/** Pushes to a remote that answers with each of these. */
const answered = (given: typeof statuses) =>
  Effect.gen(function* () {
    const { push, root, url } = yield* pushing
    put(url, "config", "[core]\n\tbare = true\n[http]\n\treceivepack = true\n")
    let answer: { readonly status: number; readonly to: "POST" | "GET" } = { status: 200, to: "GET" }
    const server = yield* gitHttpServer(root, null, (request, response) => {
      const isIt = request.method === answer.to && request.url?.includes("git-receive-pack") === true
      if (!isIt) return false
      request.resume()
      request.once("end", () => {
        const location = answer.status < 400 ? { location: `${server.url}/moved.git` } : {}
        const head = { "content-type": "text/plain", ...location }
        response.writeHead(answer.status, head).end(`number ${answer.status} for Basic ${password}\n`)
      })
      return true
    })
    for (const [status, kind, mayPass] of given) {
      for (const to of ["GET", "POST"] as const) {
        if (to === "GET" && status < 400) continue
        answer = { status, to }
        const error = yield* Effect.flip(push(`${server.url}/remote.git`, "feature"))
        assert.strictEqual(error.kind, kind, `${to} ${status}: ${error.message}`)
        assert.include(error.message, String(status))
        assert.notMatch(error.message, /report it|s3cr3t/)
        assert.strictEqual(error.mayHaveHappened === true, mayPass, `${to} ${status}`)
        if (to === "GET") assert.include(error.message, `number ${status}`)
      }
    }
  }).pipe(Effect.provide(gitLayer))

/** An answer that leads elsewhere, two that refuse, and one that may pass. */
const inEachRun = new Set([302, 403, 413, 503])

it.scopedLive(
  "an answer of HTTP says its number, at the look and at the push, and only what may pass is unproven",
  () => answered(statuses.filter(([status]) => inEachRun.has(status)))
)
variants(() => {
  it.scopedLive("other answers of HTTP say their number too", () =>
    answered(statuses.filter(([status]) => !inEachRun.has(status)))
  )
})

it("words are bounded, without progress, frames and tokens", () => {
  const token = `ghp_${"a".repeat(36)}`
  const words = wordsOfRemote(
    scrub(
      `remote: Resolving deltas:  50% (1/2)\rremote: Resolving deltas: 100% (2/2), done.\nremote: =====\nremote: leaked ${token}\nremote: leaked ${token}\nother: not the remote\nERROR: gone\n`
    )
  )
  assert.strictEqual(words, "leaked *** ERROR: gone")
  assert.isAtMost(wordsOfRemote(scrub(`remote: ${"long ".repeat(5_000)}`)).length, 2_000)
})
