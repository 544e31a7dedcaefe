import { conditionsSentence, type MergeRequest, type Reins, waitingSentence } from "@reins/client"
import { argument, choice, entry, flag, group, option, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { liveProgress } from "../terminal/Progress.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { reasonText } from "./ErrorSentences.js"
import { readCared } from "./FollowRequest.js"
import { draft, ready, reply } from "./MergeRequestActs.js"
import { care, deliverProposed, log, rerun } from "./MergeRequestCare.js"
import { conditions } from "./MergeRequestConditions.js"
import { printMergeRequest, readParts } from "./MergeRequestView.js"
import { watch } from "./MergeRequestWatch.js"
import { projectNamed } from "./ProjectNamed.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { sessionNamed, sessionOption } from "./Resolve.js"
import { requireYes, yes } from "./SessionState.js"

const states = ["open", "merged", "closed", "failed", "pending"] as const satisfies Array<MergeRequest["state"]>
const careStates = ["watching", "working", "handed_over", "ended"] as const satisfies Array<
  NonNullable<MergeRequest["care_state"]>
>
const methods = ["merge", "squash", "rebase"] as const

const request = argument("merge-request", "The id of a merge request")
const json = flag("json", "A line of JSON in the place of text")

const list = remoteCommand({
  takes: {
    state: choice("state", [...states, "all"], "Those in this state (open)"),
    care: choice("care", careStates, "Those whose care stands so"),
    project: option("project", "Those of this project", { value: "slug" }),
    session: sessionOption("Those of this session"),
    limit: whole("limit", "How many at most (20)", [1, 200]),
    json: flag("json", "Lines of JSON in the place of text"),
    workspace: workspaceOption
  },
  examples: [
    ["reins merge-requests list", "The open ones, and what each waits for"],
    ["reins merge-requests list --care handed_over", "Those that a person has to go on with"],
    ["reins merge-requests list --state all --project web --json", "All of a project, for a program"]
  ],
  run: async ({ care, json, limit = 20, project, session, state = "open", workspace }, connect) => {
    const remote = await connect(workspace)
    const { reins, workspaceId: workspace_id } = remote
    const session_id = session === undefined ? undefined : await sessionNamed(remote, session)
    const project_id = project === undefined ? undefined : await projectNamed(reins, workspace_id, project)
    if (project !== undefined && project_id === undefined)
      throw new CommandFailed({ message: `There is no project "${project}". See: reins projects list` })
    const { items } = await reins.mergeRequests.list({
      workspace_id,
      limit,
      ...(state !== "all" && { state }),
      ...(care !== undefined && { care }),
      ...(project_id !== undefined && { project_id }),
      ...(session_id !== undefined && { session_id })
    })
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("There is no such merge request.")
    process.stdout.write(table([["REQUEST", "STATE", "CARE", "WAITS FOR", "TITLE"], ...items.map(rowOf)]))
  }
})

const rowOf = ({ care_state, draft, id, number, standing, state, title }: MergeRequest): ReadonlyArray<string> => [
  id,
  draft && state === "open" ? "draft" : state,
  care_state?.replaceAll("_", " ") ?? "-",
  state !== "open"
    ? "-"
    : standing === null
      ? "not read yet"
      : standing.waiting_for.map(({ kind }) => kind.replaceAll("_", " ")).join(", ") || "nothing",
  harmless(`${number === null ? "" : `#${number} `}${title.replaceAll(/\s+/g, " ")}`)
]

const show = remoteCommand({
  takes: { request, json },
  examples: [
    ["reins merge-requests show mr_01h…", "Its checks, reviews, threads, care and merge conditions"],
    ["reins merge-requests show mr_01h… --json | jq '.checks[].state'", "The states of its checks"]
  ],
  run: async ({ json, request: merge_request_id }, connect) => {
    const { reins } = await connect()
    const cared = await readCared(reins, merge_request_id)
    const parts = await readParts(reins, cared.request)
    if (json) printJsonNow({ merge_request: cared.request, care: cared.care ?? null, ...parts })
    else printMergeRequest(cared, parts)
  }
})

const look = remoteCommand({
  takes: { request, json },
  details: "Reins reads the forge by itself again and again. This does it at once, and prints what it waits for then.",
  examples: [
    ["reins merge-requests look mr_01h…", "Read the forge now"],
    ["reins merge-requests look mr_01h… --json | jq .standing", "The sums of what was read"]
  ],
  run: async ({ json, request: merge_request_id }, connect) => {
    const { reins } = await connect()
    const { asked_at, merge_request: before } = await reins.mergeRequests.look({ merge_request_id })
    const looked = await lookedAt(reins, before, asked_at)
    if (json) return printJsonNow(looked)
    process.stdout.write(`${harmless(waitingSentence(looked))}\n`)
    if (looked.observed_at === before.observed_at)
      tell(`The forge was not read. Reins tries again by ${looked.next_look_at ?? "itself"}.`)
  }
})

/** A forge that answers is read within this time, in milliseconds. */
const lookMs = 70_000
const pollMs = 250

/** The merge request once the look that was asked for has ended, whether the forge could be read or not. */
const lookedAt = async (reins: Reins, before: MergeRequest, askedAt: string): Promise<MergeRequest> => {
  const busy = liveProgress()
  const endsAt = performance.now() + lookMs
  const asked = before.next_look_at ?? ""
  try {
    for (;;) {
      const now = await reins.mergeRequests.get({ merge_request_id: before.id })
      if (now.state !== "open" || (now.observed_at ?? "") >= askedAt) return now
      // A look that failed is followed by one that is later than the one that was asked for.
      if ((now.next_look_at ?? "") > asked) return now
      if (performance.now() > endsAt)
        throw new CommandFailed({ message: "The forge was not read in a minute. The look goes on by itself." })
      busy.say("Reading the forge")
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  } finally {
    busy.clear()
  }
}

const merge = remoteCommand({
  takes: {
    request,
    method: choice("method", methods, "How to merge (merge)"),
    head: option("head", "The commit that you have reviewed (the head, after you said yes)", { value: "commit" }),
    when: choice("when", ["now", "conditions"], "Merge at once, or only if its merge conditions hold (now)"),
    yes,
    json
  },
  details:
    "Merges exactly that commit: one that is no longer the head is not merged. It asks first, and says what the request still waits for.\n" +
    "With --when conditions it merges the newest commit if its merge conditions hold there, and says which do not.\n" +
    "Exits with 1 when the forge declines.",
  examples: [
    ["reins merge-requests merge mr_01h…", "Merge it, after a question"],
    ["reins merge-requests merge mr_01h… --method squash --yes", "Squash it without a question"]
  ],
  run: async ({ head, json, method, request: merge_request_id, when, yes }, connect) => {
    const byConditions = when === "conditions"
    if (byConditions && (head !== undefined || method !== undefined))
      throw new CommandFailed({ message: "The conditions say what is merged and how. Leave out --head and --method." })
    const { reins } = await connect()
    const found = await reins.mergeRequests.get({ merge_request_id })
    if (found.state !== "open" || found.head_sha === null)
      throw new CommandFailed({ message: `Nothing was merged. ${harmless(waitingSentence(found))}` })
    const commit = head ?? found.head_sha
    const where = harmless(`${found.repository} into ${found.base_branch}`)
    if (!json) tell(harmless(byConditions ? conditionsSentence(found) : waitingSentence(found)))
    await requireYes(`Merge the commit ${commit.slice(0, 10)} of ${where}?`, yes)
    const answer = await reins.mergeRequests.merge({
      merge_request_id,
      ...(byConditions
        ? { when: "conditions" as const }
        : { expected_head_sha: commit, ...(method !== undefined && { method }) })
    })
    const merged = await endedMerge(reins, answer)
    if (json) printJsonNow(merged)
    if (merged.state === "merged") return json ? undefined : tell(`Merged into ${harmless(merged.base_branch)}.`)
    throw new CommandFailed({ message: `It was not merged: ${reasonText(merged)}` })
  }
})

const endedMerge = async (
  reins: Reins,
  { merge_request: { id: merge_request_id }, operation }: Awaited<ReturnType<Reins["mergeRequests"]["merge"]>>
): Promise<MergeRequest> => {
  const busy = liveProgress()
  busy.say("Merging")
  try {
    await reins.jobs.wait(operation)
    return await reins.mergeRequests.get({ merge_request_id })
  } finally {
    busy.clear()
  }
}

/** `reins merge-requests` */
export const mergeRequests = group(
  entry("list", "List the merge requests of a workspace", list),
  entry("show", "Its checks, reviews, threads, care and merge conditions", show),
  entry("watch", "Follow it until it is merged, or a person has to go on", watch),
  entry("look", "Have the forge read now", look),
  entry("merge", "Merge the commit that you have reviewed", merge),
  entry("care", "Have failed checks mended and reviews answered", care),
  entry("deliver", "Push the change that care has proposed", deliverProposed),
  entry("conditions", "Merge it by itself once conditions hold", conditions),
  entry("ready", "Mark it as ready for review", ready),
  entry("draft", "Convert it to a draft", draft),
  entry("reply", "Comment on the forge, or answer in a thread", reply),
  entry("rerun", "Run failed checks again", rerun),
  entry("log", "The log of a check that failed", log)
)
