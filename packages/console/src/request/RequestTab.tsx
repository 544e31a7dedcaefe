import "../styles/request.css"
import { useSignal } from "@preact/signals"
import type { MergeRequest } from "@reins/client"
import { useEvery, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import type { TabProps } from "../session/SessionPage.js"
import { Await, Field, Nothing } from "../ui/Basics.js"
import { RequestView } from "./RequestView.js"

/** The merge requests that are listed. The newest ones are those that somebody works on. */
const most = 50

/** The times after which the list is read again without an event, in milliseconds. */
const [soonMs, laterMs] = [1500, 30_000]

/** The merge requests of a session: how the forge has each, and what it waits for. */
export const RequestTab = ({ log, session }: TabProps) => {
  void log.revision.value
  const { id: session_id, workspace_id } = session
  const chosen = useSignal("")
  const moved = log.events.findLast(({ type }) => type.startsWith("merge_request."))?.seq
  const requests = useLoaded(
    "the merge requests",
    (signal) => wholeOf(reins.mergeRequests.list({ workspace_id, session_id, limit: most }, { signal })),
    [session_id, moved]
  )
  const ongoing = (requests.value.value?.items ?? []).filter(({ state }) => state === "open" || state === "pending")
  const isNew = ongoing.some(
    ({ conditions, standing }) =>
      standing === null || conditions?.waiting_for.some(({ kind }) => kind === "not_looked_at") === true
  )
  // The first look, that of new conditions, and one that finds no difference have no event.
  useEvery(isNew ? soonMs : laterMs, ongoing.length > 0, requests.reload)
  return (
    <div class="scroll request">
      <Await of={requests}>
        {({ items }) => {
          const shown = items.find(({ id }) => id === chosen.value) ?? firstOf(items)
          return shown === undefined ? (
            <Nothing>
              <p>There is no merge request yet.</p>
              <p>
                Deliver a changeset as a branch, then open a merge request for it.{" "}
                <a href={`sessions/${session_id}/changes`}>Go to the changes</a>
              </p>
            </Nothing>
          ) : (
            <>
              {items.length > 1 && <Choice items={items} shown={shown} choose={(id) => (chosen.value = id)} />}
              <RequestView key={shown.id} request={shown} log={log} reload={requests.reload} />
            </>
          )
        }}
      </Await>
    </div>
  )
}

/** The newest open one, else the newest. */
const firstOf = (items: ReadonlyArray<MergeRequest>): MergeRequest | undefined =>
  items.find(({ state }) => state === "open") ?? items[0]

const Choice = ({
  choose,
  items,
  shown
}: {
  readonly items: ReadonlyArray<MergeRequest>
  readonly shown: MergeRequest
  readonly choose: (id: string) => void
}) => (
  <Field label="Merge request">
    <select value={shown.id} onChange={({ currentTarget }) => choose(currentTarget.value)}>
      {items.map(({ id, number, state, title }) => (
        <option key={id} value={id}>
          {number === null ? "" : `#${number} `}
          {title} ({state})
        </option>
      ))}
    </select>
  </Field>
)
