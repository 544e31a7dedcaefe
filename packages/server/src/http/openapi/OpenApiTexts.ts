// The texts of the OpenAPI document that the schemas do not carry.

import { Option, SchemaAST } from "effect"

export const info = {
  description:
    "One API for every coding agent: accounts and API keys, projects and their published versions, coding sessions, changesets " +
    "and their deliveries, delegations, and provider connections. Operations with `x-reins-extension` go beyond the " +
    "specification; all others are of it. Every failure is an `ErrorEnvelope`, but for a malformed request, which is an " +
    "`HTTPValidationError`.",
  contact: { name: "The operator of this installation" },
  license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" }
}

/** The subject of each group of operations, by its tag. */
export const tags: Readonly<Record<string, string>> = {
  accounts: "Registering, logging in and out, and changing or resetting a password.",
  apiKeys: "Keys that programs call with. A key is shown once, when it is created.",
  applications: "A changeset on its way into the workspace of a session.",
  toolCalls: "The calls of the service's tools that agents made.",
  artifacts: "Files that agents keep for people, each with its content as it was when it was published.",
  automations: "Work that begins by itself, at its time, and its runs.",
  catalog: "What this installation has: providers, models, executors and limits. Reads without side effects.",
  care: "Merge requests that Reins brings on by itself: red checks and comments become bounded turns of their session.",
  changesets: "The sealed work of a session: what changed, against the commit that it started from.",
  connections: "Credentials for gateways and forges. A secret that was stored never comes back.",
  delegations: "Parts of the work of a session that child sessions do, and what they came to.",
  deliveries: "A changeset on its way out: as a patch, or as a branch of the repository.",
  hooks:
    "Addresses that the world calls to start automations, with secrets that prove a call. The call itself is `POST /api/hooks/{hook_id}`, which " +
    "`docs/hooks.md` describes.",
  interactions: "What the agent of a running turn asks: approvals and questions, each with an expiry and a default.",
  jobs: "The evidence of what was done for an operation: its jobs and their attempts.",
  mergeRequests: "Merge requests of delivered branches, on GitHub, GitLab and Gitea or Forgejo.",
  messages: "The conversation of a session.",
  connectionLogins: "Logins of people at servers of tools, in a browser, as `docs/tools.md` describes.",
  oauthGrants: "Apps that got access to the account by OAuth, as `docs/assistants.md` describes.",
  projects: "What sessions of the same kind start from, in published versions that never change.",
  push: "Browsers that are told what happens in a workspace while no page of the console is open.",
  sessions: "A conversation and a workspace, run by an executor with one provider.",
  shared: "A session as everybody with a link sees it. The token of the link is the bearer.",
  signingKeys: "Keys of a workspace with which the service signs the commits that it delivers.",
  shares: "Links with which anybody may read a session.",
  turns: "What an agent does with one message.",
  webhooks: "Addresses to which the events of a workspace are sent, and what became of each delivery.",
  workspaces: "Who owns what: projects, connections and sessions belong to a workspace, and people are members of it."
}

/** The meaning of a parameter, by its name, where its schema does not tell. */
export const parameters: Readonly<Record<string, string>> = {
  account_id: "The id of a member or of an invitation, as the list of members gives it.",
  activity: "Only sessions that are doing this.",
  after: "Only events after this one: the `seq` of the last that was read. Exclusive.",
  application_id: "The application, by its id, which begins with `app_`.",
  artifact_id: "The artifact, by its id, which begins with `art_`.",
  attention_id: "The attention of a care, by its id, which begins with `atn_`.",
  automation_id: "The automation, by its id, which begins with `aut_`.",
  automation_run_id: "The run of an automation, by its id, which begins with `run_`.",
  changeset_id: "The changeset, by its id, which begins with `cs_`.",
  check_id: "The check of a merge request, by its id, which begins with `chk_`.",
  connection_id: "The connection, by its id, which begins with `con_`.",
  context: "Unchanged lines around each change.",
  archived: "True lists the archived ones alone, false those that are in use.",
  cursor: "Where the next page begins: the `next_cursor` of the page before.",
  delegation_id: "The delegation, by its id, which begins with `del_`.",
  delivery_id: "The delivery, by its id, which begins with `dlv_`.",
  deltas:
    "Streams also give words as the agent says them, before they are in the log: `event: message.delta` without an id.",
  hook_id: "The hook, by its id, which begins with `hook_`.",
  hook_receipt_id: "The receipt of a call, by its id, which begins with `hrc_`.",
  interaction_id: "The interaction, by its id, which begins with `int_`.",
  job_id: "The job, by its id, which begins with `job_`.",
  key_id: "The API key, by its id and not its secret; it begins with `key_`.",
  label:
    "Only what is of sessions that have this label now, as `name=value` with the exact value; the first `=` ends the name. The events of a " +
    "workspace have every `session.updated` besides, because it may tell that a session has taken the label or lost it.",
  lifecycle: "Only sessions in this state.",
  limit: "The most items of a page; of a stream, how many events are read at a time.",
  max_seconds: "How long a stream stays open; from 0.5 to 600. A page is answered at once.",
  merge_request_id: "The merge request, by its id, which begins with `mr_`.",
  oauth_grant_id: "The access of an app, by its id, which begins with `grant_`.",
  operation_id: "The operation, by the id that the answer that began it gives; it begins with `op_`.",
  parent_session_id: "Only the child sessions of this session.",
  path: "A path from the root of the workspace, without a leading slash.",
  project_id: "The project, by its id, which begins with `prj_`.",
  provider_id: "The provider, as GET /api/harnesses lists it.",
  push_subscription_id: "The subscription of a browser, by its id, which begins with `psh_`.",
  connection_login_id: "The login at a server of tools, by its id, which begins with `clogin_`.",
  session_id: "The session, by its id, which begins with `sess_`.",
  share_id: "The share, by its id, which begins with `shr_`.",
  signing_key_id: "The signing key, by its id, which begins with `skey_`.",
  state: "Only items in this state.",
  turn_id: "The turn, by its id, which begins with `turn_`.",
  types: "Only these types of events: a comma list of names, or of prefixes as in `turn.*`.",
  webhook_delivery_id: "The delivery to a webhook endpoint, by its id, which begins with `whd_`.",
  webhook_endpoint_id: "The webhook endpoint, by its id, which begins with `whe_`.",
  workspace_id: "The workspace, by its id, which begins with `wsp_`."
}

export const streamDescription =
  "Server-sent events: `id` is the seq, `event` the type, `data` an Event. A filtered stream moves on by frames with an `id` alone. The last " +
  "one is `stream.end`, without an id: `next_after` is where to read on, `reason` one of `max_seconds`, `shutdown`, `slow_consumer` and " +
  "`refused`, when the caller may no longer read: the answer to the next request says why."

export const streamExample = [
  "retry: 2000",
  ": watermark 2",
  "",
  "id: 1",
  "event: session.created",
  'data: {"id":"evt_01jz0000000000000000000001","seq":1,"type":"session.created", ...}',
  "",
  "id: 2",
  "event: turn.succeeded",
  'data: {"id":"evt_01jz0000000000000000000002","seq":2,"type":"turn.succeeded", ...}',
  "",
  "event: stream.end",
  'data: {"reason":"max_seconds","next_after":2}',
  "",
  ""
].join("\n")

export const markdownDescription =
  "The same for people: conversation, questions, turns and changes. Tool calls have the shortened texts of the messages."

export const bodyDescription =
  "Fields that the operation does not know are passed over, and named in the header `Reins-Unknown-Fields` of the answer."

/** The answer of a success, as its schema describes it; the work itself where there is no body. */
export const answerDescription = (summary: string, ast: SchemaAST.AST): string =>
  Option.getOrElse(SchemaAST.getDescriptionAnnotation(ast), () => `${summary}: done, without a body.`)

const scopes = {
  public: "Anybody may call it.",
  read: "Needs credentials that may read.",
  act: "Needs credentials with the scope `act`, and in the workspace the role of an owner or a member.",
  write: "Needs credentials that may write, and in the workspace the role of an owner or a member.",
  admin: "Needs credentials with the scope `admin`."
}

/** Tells the effect of an operation, its callers, and the result of a repeated call. */
export const descriptionOf = (operation: {
  readonly summary: string
  readonly scope: keyof typeof scopes
  readonly mutates: boolean
  readonly isReplayed: boolean
  readonly holdsSecret: boolean
}): string =>
  [
    `${operation.summary}.`,
    scopes[operation.scope],
    ...(operation.mutates && operation.isReplayed
      ? [
          "A call that is repeated with its `Idempotency-Key` is answered as the first was, with `Idempotency-Replayed: true`."
        ]
      : []),
    ...(operation.mutates && !operation.isReplayed ? ["A repeated call is carried out anew."] : []),
    ...(operation.holdsSecret ? ["The answer holds a secret that is shown this once."] : [])
  ].join(" ")
