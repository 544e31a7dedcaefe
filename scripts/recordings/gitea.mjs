// What is recorded of Gitea: its OpenAPI document, answers that others have recorded of it, and bodies of its hooks.
import { takeOperations } from "./openapi.mjs"

const own = { repository: "go-gitea/gitea", commit: "9f3d04eb7ed05bee0ef328617872cd5d80e10e36", license: "MIT" }
const scm = {
  repository: "jenkins-x/go-scm",
  commit: "66929c87ff91f811fac47b0fcc42c7ffd66384a7",
  license: "BSD-3-Clause"
}
const woodpecker = {
  repository: "woodpecker-ci/woodpecker",
  commit: "a4cb541b82dea1967d5b5577ff80a472b349afb2",
  license: "Apache-2.0"
}

const repository = "/repos/{owner}/{repo}"

/** The operations that Reins asks for, with the file of an answer where somebody has published one. */
const operations = {
  "GET /user": "user.json",
  [`GET ${repository}`]: "repo.json",
  [`GET ${repository}/pulls`]: "prs.json",
  [`POST ${repository}/pulls`]: "pr.json",
  [`GET ${repository}/pulls/{index}`]: "pr.json",
  [`PATCH ${repository}/pulls/{index}`]: "pr.json",
  [`POST ${repository}/pulls/{index}/merge`]: undefined,
  [`GET ${repository}/commits/{ref}/statuses`]: "statuses.json",
  [`GET ${repository}/pulls/{index}/reviews`]: "reviews.json",
  [`POST ${repository}/pulls/{index}/reviews`]: "review.json",
  [`GET ${repository}/pulls/{index}/reviews/{id}/comments`]: undefined,
  [`GET ${repository}/issues/{index}/comments`]: "comments.json",
  [`POST ${repository}/issues/{index}/comments`]: "comment.json",
  [`GET ${repository}/branches/{branch}`]: "branch.json",
  [`DELETE ${repository}/branches/{branch}`]: undefined,
  [`GET ${repository}/branch_protections/{name}`]: undefined,
  [`GET ${repository}/collaborators/{collaborator}/permission`]: undefined,
  [`GET ${repository}/actions/jobs/{job_id}/logs`]: undefined,
  [`GET ${repository}/hooks`]: "hooks.json",
  [`POST ${repository}/hooks`]: "hook.json",
  [`PATCH ${repository}/hooks/{id}`]: "hook.json",
  [`DELETE ${repository}/hooks/{id}`]: undefined
}

/** A pointer, a time and a list of Go are null where there is none. The document does not say so, the recorded answers do. */
const mayBeNull = ({ $ref, format, type }) => $ref !== undefined || format === "date-time" || type === "array"

export const answers = async ({ ofFile }) => {
  const document = await ofFile(own, "templates/swagger/v1_openapi3_json.tmpl")
  const examples = {}
  for (const [operation, file] of Object.entries(operations))
    if (file !== undefined) examples[operation] = (await ofFile(scm, `scm/driver/gitea/testdata/${file}`)).value
  return takeOperations(document.value, Object.keys(operations), { all: true, examples, mayBeNull })
}

const ofScm = (name) => [scm, `scm/driver/gitea/testdata/webhooks/${name}.json`]
const ofWoodpecker = (name) => [woodpecker, `server/forge/gitea/fixtures/${name}.json`]

/** The bodies, with their events and files. */
const bodies = {
  "issue_comment.created": ["issue_comment", ofScm("issue_comment_created")],
  "issues.opened": ["issues", ofScm("issues_opened")],
  "pull_request.closed": ["pull_request", ofWoodpecker("HookPullRequestClosed")],
  "pull_request.opened": ["pull_request", ofScm("pull_request_opened")],
  "pull_request.synchronized": ["pull_request", ofWoodpecker("HookPullRequestUpdated")],
  "pull_request_approved.reviewed": ["pull_request_approved", ofWoodpecker("HookPullRequestReviewAck")],
  "pull_request_comment.created": ["issue_comment", ofScm("pull_request_comment_created")],
  "pull_request_comment.reviewed": ["pull_request_comment", ofWoodpecker("HookPullRequestReviewComment")],
  push: ["push", ofWoodpecker("HookPushBranch")]
}

export const hooks = async ({ ofFile }) => {
  const taken = {}
  for (const [name, [event, file]] of Object.entries(bodies))
    taken[name] = { event, body: (await ofFile(...file)).value }
  return { bodies: taken }
}
