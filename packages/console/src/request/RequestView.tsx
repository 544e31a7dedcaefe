import { useSignal } from "@preact/signals"
import { conditionsSentence, type MergeRequest, waitingSentence } from "@reins/client"
import { useMemo } from "preact/hooks"
import { useAction, useLoaded } from "../api/Loading.js"
import { reasonInFull } from "../api/Reasons.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { AskMerge, type Method } from "../review/MergeRequests.js"
import { reviewOf } from "../review/Review.js"
import type { SessionLog } from "../session/SessionLog.js"
import { Outcome, State, Time } from "../ui/Basics.js"
import { CareView } from "./CareView.js"
import { ConditionsView } from "./ConditionsView.js"
import { headChangeset } from "./Head.js"
import { lookAt } from "./LookAt.js"
import { Checks, Reviews, Threads } from "./Parts.js"
import { Readiness, Wish } from "./Readiness.js"
import { VerdictsView } from "./VerdictsView.js"

/** A merge request as its forge was last read. */
export const RequestView = ({
  log,
  reload,
  request
}: {
  readonly request: MergeRequest
  readonly log: SessionLog
  readonly reload: () => void
}) => {
  const { base_branch, draft, head_sha, id, number, session_id, state, title, web_url } = request
  const action = useAction()
  const isAsking = useSignal(false)
  const moved = log.events.findLast(({ type }) => type.startsWith("merge_request."))?.seq
  const changesetId = headChangeset(log.events, request) ?? request.changeset_id
  const review = useMemo(() => reviewOf(changesetId), [changesetId])
  const changeset = useLoaded(
    "the changeset",
    (signal) => reins.changesets.get({ changeset_id: changesetId }, { signal }),
    [changesetId]
  )
  const act = (doing: string, work: () => Promise<unknown>) =>
    action.run(doing, async () => {
      await work()
      reload()
    })
  const merge = (expected_head_sha: string, method: Method) =>
    act("the merge", () => reins.mergeRequests.merge({ merge_request_id: id, expected_head_sha, method }))
  const mayAct = mayWrite.value && state === "open"
  return (
    <>
      <div class="section-head">
        <h2>
          {web_url === null ? (
            title
          ) : (
            <a href={web_url} target="_blank" rel="noreferrer noopener">
              #{number} {title}
            </a>
          )}{" "}
          <State of={state} as={draft && state === "open" ? "draft" : state} /> <Wish request={request} />
        </h2>
        {mayAct && (
          <span class="actions">
            <button
              type="button"
              class="small"
              disabled={action.busy.value !== undefined}
              onClick={() => act("the forge", () => lookAt(id))}
            >
              Look now
            </button>
            <Readiness request={request} action={action} reload={reload} />
            {head_sha !== null && (
              <button
                type="button"
                class="primary small"
                disabled={action.busy.value !== undefined}
                onClick={() => (isAsking.value = true)}
              >
                Merge into {base_branch} …
              </button>
            )}
          </span>
        )}
      </div>
      <Outcome of={action} />
      <Waits request={request} />
      <Facts request={request} changesetId={changesetId} />
      <CareView request={request} moved={moved} reload={reload} />
      <ConditionsView request={request} reload={reload} />
      <Checks request={request} reload={reload} />
      <Reviews request={request} />
      <VerdictsView request={request} changeset={changeset} reload={reload} />
      <Threads request={request} reviewPath={`sessions/${session_id}/review/${changesetId}`} reload={reload} />
      {isAsking.value && head_sha !== null && (
        <AskMerge
          request={request}
          commit={head_sha}
          files={changeset.value.value?.file_count ?? 0}
          review={review}
          close={() => (isAsking.value = false)}
          merge={(method) => void merge(head_sha, method)}
        />
      )}
    </>
  )
}

/** The sentence that says where it stands, and why the forge could not be read in part. */
const Waits = ({ request }: { readonly request: MergeRequest }) => {
  const { reason, standing, state } = request
  const waits = state === "open" ? (standing?.waiting_for ?? []) : []
  const unread = waits.filter(({ kind }) => kind.endsWith("_unreadable") || kind === "forge_unreadable")
  return (
    <div class={waits.length === 0 ? "notice waits" : "notice ask waits"} role="status">
      <p>{waitingSentence(request)}</p>
      {state === "open" && request.conditions !== null && <p>{conditionsSentence(request)}</p>}
      {unread.map(({ kind, message }) => (
        <p key={kind}>{message}</p>
      ))}
      {state === "open" && reason !== null && <p>The last command did not take effect. {reasonInFull(request)}</p>}
    </div>
  )
}

const conflictWords = { none: "none", conflicts: "with the target branch", unknown: "not known yet" } as const

const Facts = ({ changesetId, request }: { readonly request: MergeRequest; readonly changesetId: string }) => {
  const { base_branch, head_branch, head_sha, next_look_at, observed_at, repository, session_id, standing } = request
  return (
    <dl class="facts-list">
      <dt>Repository</dt>
      <dd>{repository}</dd>
      <dt>Branch</dt>
      <dd>
        <code>{head_branch}</code> into <code>{base_branch}</code>
      </dd>
      {head_sha !== null && (
        <>
          <dt>Head</dt>
          <dd>
            <code title={head_sha}>{head_sha.slice(0, 10)}</code>
            {standing !== null &&
              (standing.head_is_ours
                ? " pushed by this session"
                : " pushed by somebody else: the review does not show it")}
            {" · "}
            <a href={`sessions/${session_id}/review/${changesetId}`}>Review</a>
          </dd>
        </>
      )}
      {standing !== null && (
        <>
          <dt>Conflicts</dt>
          <dd>{conflictWords[standing.conflicts]}</dd>
        </>
      )}
      {observed_at !== null && (
        <>
          <dt>Last look</dt>
          <dd>
            <Time at={observed_at} />
            {next_look_at !== null && ` · next at ${new Date(next_look_at).toLocaleTimeString()}`}
          </dd>
        </>
      )}
    </dl>
  )
}
