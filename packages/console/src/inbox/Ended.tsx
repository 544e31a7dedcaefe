import { useSignal } from "@preact/signals"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Nothing, State, Time } from "../ui/Basics.js"
import { workspace } from "./Workspace.js"

/** The sessions that are archived or closed, which are read once somebody wants to see them. */
export const Ended = () => {
  const isOpen = useSignal(false)
  return (
    <details class="ended" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>Archived and closed sessions</summary>
      {isOpen.value && <EndedList />}
    </details>
  )
}

const step = 50
const most = 200

const EndedList = () => {
  const workspace_id = workspace.value?.id ?? ""
  const limit = useSignal(step)
  const list = useLoaded(
    "the archived sessions",
    (signal) => reins.workspaces.listWork({ workspace_id, view: "archived", limit: limit.value }, { signal }),
    [workspace_id, limit.value]
  )
  return (
    <Await of={list}>
      {({ items, next_cursor }) =>
        items.length === 0 ? (
          <Nothing>
            <p>No session was archived or closed.</p>
          </Nothing>
        ) : (
          <section class="inbox" aria-label="Archived and closed">
            <ul>
              {items.map(({ lifecycle, session_id, since, title }) => (
                <li key={session_id}>
                  <a class="session-row" href={`sessions/${session_id}`}>
                    <span class="title">{title ?? session_id}</span>
                    <span class="why">
                      <State of={lifecycle} />
                    </span>
                    <span class="facts">
                      <Time at={since} />
                    </span>
                  </a>
                </li>
              ))}
            </ul>
            {next_cursor !== null && limit.value < most && (
              <p class="middle">
                <button type="button" onClick={() => (limit.value = Math.min(most, limit.value + step))}>
                  Show older ones
                </button>
              </p>
            )}
            {next_cursor !== null && limit.value >= most && <p class="fine">The search finds those that are older.</p>}
          </section>
        )
      }
    </Await>
  )
}
