import { useSignal } from "@preact/signals"
import type { Changeset, MergeRequest, Verdict } from "@reins/client"
import { authorName } from "../agents/People.js"
import { type Loaded, useAction, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite, workspace } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Await, Field, fieldsOf, Outcome, State, Time } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { More } from "../ui/More.js"
import { Prose } from "../ui/Prose.js"

interface VerdictsProps {
  readonly request: MergeRequest
  /** The changeset of the head, or the delivered one where somebody else pushed the head. */
  readonly changeset: Loaded<Changeset>
  readonly reload: () => void
}

/** The verdicts of members and delegations on the changeset, and a place to give one. */
export const VerdictsView = ({ changeset, reload, request }: VerdictsProps) => (
  <section aria-label="Verdicts">
    <h2>Verdicts</h2>
    <Await of={changeset}>{(value) => <OfChangeset changeset={value} reload={reload} request={request} />}</Await>
  </section>
)

const OfChangeset = ({
  changeset: { id: changeset_id, session_id, subject_digest },
  reload,
  request
}: Omit<VerdictsProps, "changeset"> & { readonly changeset: Changeset }) => {
  const verdicts = usePages(
    "the verdicts",
    (cursor, signal) =>
      reins.changesets.listVerdicts({ changeset_id, limit: 20, ...(cursor !== undefined && { cursor }) }, { signal }),
    [changeset_id, request.version]
  )
  const isForeign = request.standing?.head_is_ours === false
  return (
    <>
      <p class="fine">
        A verdict is about{" "}
        <a href={`sessions/${session_id}/review/${changeset_id}`}>
          {isForeign ? "the delivered changeset" : "the changeset of the head"}
        </a>{" "}
        and no other{isForeign && ". Somebody else pushed the head, so it does not count for a merge"}.
      </p>
      <Await of={verdicts}>{({ items }) => <List items={items} />}</Await>
      <More of={verdicts} />
      {mayWrite.value && request.state === "open" && subject_digest !== null && (
        <VerdictForm
          changeset_id={changeset_id}
          subject_digest={subject_digest}
          request={request}
          done={() => {
            verdicts.reload()
            reload()
          }}
        />
      )}
    </>
  )
}

const List = ({ items }: { readonly items: ReadonlyArray<Verdict> }) =>
  items.length === 0 ? (
    <p>Nobody has judged it in Reins.</p>
  ) : (
    <ul class="rows">
      {items.map(({ account_id, created_at, id, note, verdict }) => (
        <li key={id} class="said">
          <p>
            <State
              of={verdict === "approve" ? "passed" : "failed"}
              as={verdict === "approve" ? "approved" : "rejected"}
            />{" "}
            {account_id === null
              ? "A delegation"
              : authorName({ kind: "account", id: account_id }, workspace.value?.id)}{" "}
            <span class="fine">
              <Time at={created_at} />
            </span>
          </p>
          {note !== null && <Prose text={note} />}
        </li>
      ))}
    </ul>
  )

interface Given {
  readonly verdict: Verdict["verdict"]
  readonly note: string
}

const VerdictForm = ({
  changeset_id,
  done,
  request,
  subject_digest
}: {
  readonly changeset_id: string
  /** The digest of the change that the person has read. Another one is refused. */
  readonly subject_digest: string
  readonly request: MergeRequest
  readonly done: () => void
}) => {
  const action = useAction()
  const asked = useSignal<Given | undefined>(undefined)
  /** Grows with each verdict, so that the next one begins with an empty form. */
  const round = useSignal(0)
  const given = asked.value
  const give = ({ note, verdict }: Given) =>
    action.run("the verdict", async () => {
      await reins.changesets.submitVerdict({ changeset_id, subject_digest, verdict, ...(note !== "" && { note }) })
      round.value++
      done()
    })
  // Its conditions may wait for this word alone.
  const mayMerge = request.conditions?.state === "waiting" && request.conditions.verdict?.from === "member"
  return (
    <Form
      of={action}
      key={round.value}
      send={(event) => {
        const { note = "", verdict } = fieldsOf(event)
        const mine: Given = { note: note.trim(), verdict: verdict === "reject" ? "reject" : "approve" }
        if (mayMerge && mine.verdict === "approve") asked.value = mine
        else void give(mine)
      }}
    >
      <Field label="Your verdict" hint="A rejection keeps the conditions from merging it. Your newest verdict counts.">
        <select name="verdict">
          <option value="approve">Approve</option>
          <option value="reject">Reject</option>
        </select>
      </Field>
      <Field label="Reason">
        <textarea name="note" rows={3} />
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Give verdict
        </button>
      </p>
      <Outcome of={action} />
      {given !== undefined && (
        <Ask
          title="Approve this changeset?"
          verb="Approve"
          close={() => (asked.value = undefined)}
          act={() => give(given)}
        >
          <p>
            The merge conditions want this approval. Once all of them hold, Reins merges it into{" "}
            <code>{request.base_branch}</code> without another question.
          </p>
        </Ask>
      )}
    </Form>
  )
}
