import type { Changeset, LiveChanges } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Await, Nothing, Outcome, State, Time } from "../ui/Basics.js"
import { count } from "../words/Words.js"
import type { TabProps } from "./SessionPage.js"

/** The changesets of a session, and what differs from the base now. */
export const ChangesTab = ({ log, session }: TabProps) => {
  void log.revision.value
  const session_id = session.id
  const changed = log.events.findLast(({ type }) => type.startsWith("changeset."))?.seq
  const changesets = useLoaded(
    "the changesets",
    (signal) => wholeOf(reins.sessions.listChangesets({ session_id, limit: 100 }, { signal })),
    [session_id, changed]
  )
  const live = useLoaded(
    "what differs from the base",
    (signal) => reins.sessions.getChanges({ session_id }, { signal }),
    [session_id, changed]
  )
  const action = useAction()
  const capture = () =>
    action.run("the capture", async () => {
      await reins.sessions.capture({ session_id })
      changesets.reload()
    })
  return (
    <div class="scroll">
      <section>
        <div class="section-head">
          <h2>Changesets</h2>
          {mayWrite.value && session.actions.includes("capture") && (
            <button type="button" onClick={capture}>
              Capture a changeset
            </button>
          )}
        </div>
        <Outcome of={action} />
        <Await of={changesets}>
          {({ items }) =>
            items.length === 0 ? (
              <Nothing>A turn that changes files seals its work in a changeset.</Nothing>
            ) : (
              <ul class="rows">
                {items.map((each) => (
                  <ChangesetRow key={each.id} changeset={each} />
                ))}
              </ul>
            )
          }
        </Await>
      </section>
      <section>
        <h2>In the working tree now</h2>
        <Await of={live}>{(changes) => <LiveList changes={changes} />}</Await>
      </section>
    </div>
  )
}

const ChangesetRow = ({ changeset }: { readonly changeset: Changeset }) => {
  const { additions, created_at, deletions, empty, file_count, id, label, origin, session_id, state } = changeset
  return (
    <li class="row-line">
      <State of={state} />
      {empty || state !== "ready" ? (
        <span>{empty ? "Nothing was changed" : id}</span>
      ) : (
        <a href={`sessions/${session_id}/review/${id}`}>
          {label ?? count(file_count, "file")} <ins>+{additions}</ins> <del>−{deletions}</del>
        </a>
      )}
      <span class="fine">
        {origin} · <Time at={created_at} />
      </span>
    </li>
  )
}

const LiveList = ({ changes }: { readonly changes: LiveChanges }) =>
  changes.files.length === 0 ? (
    <Nothing>Nothing differs from the base.</Nothing>
  ) : (
    <ul class="rows">
      {changes.files.map(({ additions, deletions, path, status }) => (
        <li class="row-line" key={path}>
          <State of={status} />
          <code>{path}</code>
          <span class="delta">
            <ins>+{additions}</ins> <del>−{deletions}</del>
          </span>
        </li>
      ))}
    </ul>
  )
