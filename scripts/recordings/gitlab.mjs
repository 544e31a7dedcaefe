// What is recorded of GitLab: the schemas of its own tests, examples of its documentation, and answers and bodies of hooks that others have recorded.
import { takeOperations } from "./openapi.mjs"

const client = {
  repository: "xanzy/go-gitlab",
  commit: "68add0327e425160bc0933fb3fae4cdfaec950d5",
  license: "Apache-2.0"
}
const scm = {
  repository: "jenkins-x/go-scm",
  commit: "66929c87ff91f811fac47b0fcc42c7ffd66384a7",
  license: "BSD-3-Clause"
}
const documented = (commit) => ({ repository: "gitlabhq/gitlabhq", commit, license: "CC-BY-SA-4.0" })

/** The block of JSON of a page that comes next after a text, or one of the following ones. */
const block =
  (after, number = 1) =>
  (page) => {
    const rest = page.slice(page.indexOf(after))
    return rest.split("```json\n")[number].split("```")[0]
  }

/** The text between the next two backticks after a text, as a test in Go holds an answer. */
const quoted = (after) => (file) => file.slice(file.indexOf(after)).split("`")[1]

const ofClient = (name) => [client, `testdata/${name}.json`]
const ofScm = (name) => [scm, `scm/driver/gitlab/testdata/${name}.json`]

const pipelines = documented("017a6c129d6a9e4ad9fec792cd84f88641d7dbfe")
const approvals = documented("003efb27fc4d7d0571979553c602fccfbf5ad0c2")
const discussions = documented("00f1d9a3e20c49588d18bb5e7e696ff2bebb3514")

/** The schemas of GitLab's own tests. Its OpenAPI document says of no field that it is required. */
const schemaFiles = {
  "merge_request.json": "0c872e02b2c822e3397515ec324051ff540f0cd5",
  "notes.json": "0c872e02b2c822e3397515ec324051ff540f0cd5",
  "members.json": "4555e1b21c365ed8303ffb7a3325d773c9b8bf31",
  "branch.json": "0c872e02b2c822e3397515ec324051ff540f0cd5",
  "commit/basic.json": "54cd986c9f16b5f7587b072ee8eb84bbf6642e8c",
  "pipeline.json": "60a52d9829a3096dbeb78558081d95761abe1801",
  "project_hook.json": "2427d5c20c6325e6ba7b8d5224ab0d9e4f6e714e",
  "user/basic.json": "023a3f7a3b842df9dd2ad2953c3cbcd465b6de57"
}

/** A schema names another one by its file. One that is not taken lets everything through, as do fields of other versions. */
const rewritten = (value) => {
  if (Array.isArray(value)) return value.map(rewritten)
  if (typeof value !== "object" || value === null) return value
  const { $ref, additionalProperties: _, ...rest } = value
  if ($ref !== undefined) return $ref in schemaFiles ? reference($ref) : {}
  const entries = Object.entries(rest).map(([name, inner]) => [name === "oneOf" ? "anyOf" : name, rewritten(inner)])
  return Object.fromEntries(entries)
}

const nameOf = (file) => file.replace(".json", "").replace("/", "-")
const reference = (file) => ({ $ref: `#/components/schemas/${nameOf(file)}` })
const listOf = (items) => ({ type: "array", items })

const project = "/projects/{id}"
const request = `${project}/merge_requests/{merge_request_iid}`

const listed = "### List project merge request discussion items"

/** The answers to the operations that Reins asks for. */
const examples = {
  "GET /user": [200, ofClient("get_user")],
  [`GET ${project}`]: [200, ofScm("nested_repo")],
  [`GET ${project}/merge_requests`]: [200, ofClient("get_merge_requests")],
  [`POST ${project}/merge_requests`]: [201, ofClient("get_merge_request")],
  [`GET ${request}`]: [200, ofClient("get_merge_request")],
  [`PUT ${request}`]: [200, ofClient("get_merge_request")],
  [`PUT ${request}/merge`]: [200, ofClient("get_merge_request")],
  [`GET ${project}/repository/commits/{sha}/statuses`]: [200, ofScm("statuses")],
  [`GET ${project}/pipelines`]: [200, [pipelines, "doc/api/pipelines.md", block("## List project pipelines")]],
  [`GET ${request}/approvals`]: [
    200,
    [approvals, "doc/api/merge_request_approvals.md", block("### Get Configuration")]
  ],
  [`GET ${request}/reviewers`]: [200, [client, "merge_requests_test.go", quoted("merge_requests/5/reviewers")]],
  [`GET ${request}/discussions`]: [200, [discussions, "doc/api/discussions.md", block(listed)]],
  [`GET ${request}/discussions with a position`]: [200, [discussions, "doc/api/discussions.md", block(listed, 2)]],
  [`POST ${request}/discussions/{discussion_id}/notes`]: [201, ofScm("merge_note")],
  [`GET ${request}/notes`]: [200, ofScm("merge_notes")],
  [`POST ${request}/notes`]: [201, ofScm("merge_note")],
  [`GET ${project}/repository/branches/{branch}`]: [200, ofClient("get_branch")],
  [`GET ${project}/members/all`]: [200, [client, "project_members_test.go", quoted("projects/1/members/all")]],
  [`GET ${project}/hooks`]: [200, [client, "projects_test.go", quoted("func TestListProjectHooks")]],
  [`POST ${project}/hooks`]: [201, [client, "projects_test.go", quoted("func TestListProjectHooks"), (list) => list[0]]]
}

const note = { $ref: "#/components/schemas/note" }
const mergeRequest = reference("merge_request.json")
const hook = reference("project_hook.json")

/** The schemas of the answers, where GitLab has them. */
const schemas = {
  [`GET ${project}/merge_requests`]: listOf(mergeRequest),
  [`POST ${project}/merge_requests`]: mergeRequest,
  [`GET ${request}`]: mergeRequest,
  [`PUT ${request}`]: mergeRequest,
  [`PUT ${request}/merge`]: mergeRequest,
  [`GET ${project}/pipelines`]: listOf(reference("pipeline.json")),
  [`GET ${request}/discussions`]: listOf({ type: "object", properties: { notes: listOf(note) } }),
  [`GET ${request}/discussions with a position`]: listOf({ type: "object", properties: { notes: listOf(note) } }),
  [`POST ${request}/discussions/{discussion_id}/notes`]: note,
  [`GET ${request}/notes`]: listOf(note),
  [`POST ${request}/notes`]: note,
  [`GET ${project}/repository/branches/{branch}`]: reference("branch.json"),
  [`GET ${project}/members/all`]: reference("members.json"),
  [`GET ${project}/hooks`]: listOf(hook),
  [`POST ${project}/hooks`]: hook
}

export const answers = async ({ ofFile }) => {
  const components = { schemas: {} }
  for (const [file, commit] of Object.entries(schemaFiles)) {
    const source = { repository: "gitlabhq/gitlabhq", commit, license: "MIT" }
    const { value } = await ofFile(source, `spec/fixtures/api/schemas/public_api/v4/${file}`)
    components.schemas[nameOf(file)] = rewritten(value)
  }
  components.schemas.note = components.schemas.notes.items
  const paths = {}
  for (const [operation, [status, [source, file, cut, pick = (all) => all]]] of Object.entries(examples)) {
    const value = pick((await ofFile(source, file, cut)).value)
    const [method, path] = operation.split(/ (.*)/s)
    const schema = schemas[operation]
    const example = Array.isArray(value) ? value.slice(0, 2) : value
    const content = { "application/json": { ...(schema && { schema }), example } }
    paths[path] = { ...paths[path], [method.toLowerCase()]: { responses: { [status]: { content } } } }
  }
  // A field that names another schema is null where there is nobody.
  return takeOperations({ components, paths }, Object.keys(examples), { mayBeNull: ({ $ref }) => $ref !== undefined })
}

/** The bodies, with their events and files. */
const bodies = {
  build: ["Job Hook", "build"],
  "build.success": ["Job Hook", "job"],
  issue: ["Issue Hook", "issue"],
  merge_request: ["Merge Request Hook", "merge_request"],
  "note.issue": ["Note Hook", "note_issue"],
  "note.merge_request": ["Note Hook", "note_merge_request"],
  pipeline: ["Pipeline Hook", "pipeline"],
  push: ["Push Hook", "push"]
}

export const hooks = async ({ ofFile }) => {
  const taken = {}
  for (const [name, [event, file]] of Object.entries(bodies))
    taken[name] = { event, body: (await ofFile(...ofClient(`webhooks/${file}`))).value }
  return { bodies: taken }
}
