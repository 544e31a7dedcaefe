import { useSignal } from "@preact/signals"
import { type Delivery, type MergeRequest, waitingSentence } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reasonInFull } from "../api/Reasons.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Field, fieldsOf, Outcome, State } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { count } from "../words/Words.js"
import type { Review } from "./Review.js"

/** The fields of a new merge request for a delivered branch. */
export const MergeRequestForm = ({
  delivery,
  done,
  words
}: {
  readonly delivery: Delivery
  /** The text that the description begins with. */
  readonly words: string
  readonly done: () => void
}) => {
  const action = useAction()
  return (
    <Form
      of={action}
      send={(event) => {
        const { base_branch = "", description = "", draft = "", title = "" } = fieldsOf(event)
        void action.run("the merge request", async () => {
          await reins.deliveries.openMergeRequest({
            delivery_id: delivery.id,
            draft: draft === "on",
            ...(title !== "" && { title }),
            ...(description !== "" && { description }),
            ...(base_branch !== "" && { base_branch })
          })
          done()
        })
      }}
    >
      <Field label="Title">
        <input name="title" defaultValue={delivery.title ?? ""} />
      </Field>
      <Field label="Description">
        <textarea name="description" rows={4} defaultValue={words} />
      </Field>
      <Field label="Target branch" hint="Empty for the branch that the session started from.">
        <input name="base_branch" />
      </Field>
      <label class="check">
        <input name="draft" type="checkbox" /> Draft
      </label>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Open the merge request
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

/** A merge request with its state, and the merge. */
export const MergeRequestLine = ({
  files,
  reload,
  request,
  review
}: {
  readonly request: MergeRequest
  readonly review: Review
  /** The files of the changeset. */
  readonly files: number
  readonly reload: () => void
}) => {
  const { base_branch, draft, head_sha, id, number, session_id, state, title, web_url } = request
  const action = useAction()
  const isAsking = useSignal(false)
  const merge = (expected_head_sha: string, method: Method) =>
    action.run("the merge", async () => {
      await reins.mergeRequests.merge({ merge_request_id: id, expected_head_sha, method })
      reload()
    })
  return (
    <div class="section-head">
      <p>
        <State of={state} as={`merge request ${state}`} />{" "}
        {web_url === null ? (
          title
        ) : (
          <a href={web_url} target="_blank" rel="noreferrer noopener">
            #{number} {title}
          </a>
        )}{" "}
        into <code>{base_branch}</code>
        {draft && " · draft"} {reasonInFull(request)} <a href={`sessions/${session_id}/request`}>Checks and threads</a>
      </p>
      {mayWrite.value && state === "open" && head_sha !== null && (
        <button type="button" class="small" onClick={() => (isAsking.value = true)}>
          Merge into {base_branch} …
        </button>
      )}
      <Outcome of={action} />
      {isAsking.value && head_sha !== null && (
        <AskMerge
          request={request}
          commit={head_sha}
          files={files}
          review={review}
          close={() => (isAsking.value = false)}
          merge={(method) => void merge(head_sha, method)}
        />
      )}
    </div>
  )
}

/** The ways to merge, in words. */
export const methods = [
  { method: "merge", does: "Merge commit" },
  { method: "squash", does: "Squash into one commit" },
  { method: "rebase", does: "Rebase" }
] as const
export type Method = (typeof methods)[number]["method"]

/** Asks before a merge, with what a person should know before it. */
export const AskMerge = ({
  close,
  files,
  commit,
  merge,
  request,
  review
}: {
  readonly request: MergeRequest
  readonly commit: string
  readonly files: number
  readonly review: Review
  readonly close: () => void
  readonly merge: (method: Method) => void
}) => {
  const { base_branch, draft, head_branch, repository, standing } = request
  const method = useSignal<Method>("merge")
  const unseen = Math.max(0, files - review.viewed.value.size)
  const unsent = review.comments.value.length
  return (
    <Ask
      title={`Merge into ${base_branch}?`}
      verb={`Merge into ${base_branch}`}
      close={close}
      act={() => merge(method.value)}
    >
      <dl class="facts-list">
        <dt>Repository</dt>
        <dd>{repository}</dd>
        <dt>Branch</dt>
        <dd>
          <code>{head_branch}</code>
        </dd>
        <dt>Target branch</dt>
        <dd>
          <code>{base_branch}</code>
        </dd>
        <dt>Commit</dt>
        <dd>
          <code title={commit}>{commit.slice(0, 10)}</code>
        </dd>
        <dt>Files</dt>
        <dd>{unseen === 0 ? `all ${files} viewed` : `${unseen} of ${files} not viewed`}</dd>
      </dl>
      {unseen > 0 && <p class="notice ask">You have not marked {count(unseen, "file")} as viewed.</p>}
      {unsent > 0 && <p class="notice ask">{count(unsent, "comment")} not sent. The agent does not know about it.</p>}
      {standing !== null && standing.waiting_for.length > 0 && <p class="notice ask">{waitingSentence(request)}</p>}
      {standing?.head_is_ours === false && (
        <p class="notice ask">Somebody else pushed this commit. The review does not show it.</p>
      )}
      {draft && <p class="notice ask">The merge request is a draft. The forge may refuse to merge it.</p>}
      <Field label="Method">
        <select
          value={method.value}
          onChange={({ currentTarget: { value } }) =>
            (method.value = methods.find((each) => each.method === value)?.method ?? "merge")
          }
        >
          {methods.map(({ does, method }) => (
            <option key={method} value={method}>
              {does}
            </option>
          ))}
        </select>
      </Field>
    </Ask>
  )
}
