// What is recorded of GitHub: its own OpenAPI document, and the examples of webhooks that Octokit collects.
import { takeOperations } from "./openapi.mjs"

const openapi = { name: "@octokit/openapi", version: "23.0.2", license: "MIT" }
const examples = { name: "@octokit/webhooks-examples", version: "7.6.1", license: "MIT" }

const repository = "/repos/{owner}/{repo}"

/** The operations that Reins asks for. */
const operations = [
  "GET /user",
  `GET ${repository}`,
  `GET ${repository}/pulls`,
  `POST ${repository}/pulls`,
  `GET ${repository}/pulls/{pull_number}`,
  `PUT ${repository}/pulls/{pull_number}/merge`,
  `GET ${repository}/commits/{ref}/check-runs`,
  `GET ${repository}/commits/{ref}/status`,
  `GET ${repository}/actions/runs`,
  `GET ${repository}/actions/jobs/{job_id}/logs`,
  `POST ${repository}/actions/jobs/{job_id}/rerun`,
  `GET ${repository}/check-runs/{check_run_id}/annotations`,
  `POST ${repository}/check-runs/{check_run_id}/rerequest`,
  `GET ${repository}/pulls/{pull_number}/reviews`,
  `GET ${repository}/pulls/{pull_number}/comments`,
  `POST ${repository}/pulls/{pull_number}/comments/{comment_id}/replies`,
  `GET ${repository}/issues/{issue_number}/comments`,
  `POST ${repository}/issues/{issue_number}/comments`,
  `GET ${repository}/branches/{branch}`,
  `GET ${repository}/branches/{branch}/protection`,
  `GET ${repository}/rules/branches/{branch}`,
  `GET ${repository}/rulesets/{ruleset_id}`,
  `DELETE ${repository}/git/refs/{ref}`,
  `GET ${repository}/collaborators/{username}/permission`,
  `GET ${repository}/hooks`,
  `POST ${repository}/hooks`,
  `PATCH ${repository}/hooks/{hook_id}`,
  `DELETE ${repository}/hooks/{hook_id}`,
  "GET /app",
  `GET ${repository}/installation`,
  "GET /app/installations/{installation_id}",
  "POST /app/installations/{installation_id}/access_tokens"
]

export const answers = ({ ofPackage }) =>
  takeOperations(ofPackage(openapi, "generated/api.github.com.json").value, operations)

/** The bodies by their event, with the place of each in the collection. */
const bodies = {
  check_run: [0, 1],
  check_suite: [0],
  issue_comment: [0],
  issues: [15],
  ping: [0],
  pull_request: [12, 22],
  pull_request_review: [2],
  pull_request_review_comment: [1],
  pull_request_review_thread: [1],
  push: [4],
  status: [0],
  workflow_job: [1],
  workflow_run: [1]
}

export const hooks = ({ ofPackage }) => {
  const { value: published } = ofPackage(examples, "api.github.com/index.json")
  const named = Object.entries(bodies).flatMap(([event, places]) => {
    const found = published.find(({ name }) => name === event)
    return places.map((place) => {
      const body = found.examples[place]
      return [body.action === undefined ? event : `${event}.${body.action}`, { event, body }]
    })
  })
  return { bodies: Object.fromEntries(named) }
}
