import { signal } from "@preact/signals"
import { escapeUnseen } from "@reins/client"
import { agentName } from "../agents/AgentNames.js"
import { questions } from "../inbox/Workspace.js"
import { parts } from "../route/Route.js"
import { Question } from "./Question.js"

/** A small window has no room for more than the first line of it. */
const isFolded = signal(innerWidth < 600 || innerHeight < 700)

/** The questions of agents, pinned to every page but the one of the session that asks, which shows it in its place. */
export const Approvals = () => {
  const [page, id] = parts.value
  const list = questions.value.filter(({ standing }) => page !== "sessions" || standing.item.session_id !== id)
  const [first] = list
  if (first === undefined) return null
  return (
    <aside class={isFolded.value ? "approvals folded" : "approvals"} aria-label="Waiting for your answer">
      <button
        type="button"
        class="approvals-head"
        aria-expanded={!isFolded.value}
        onClick={() => (isFolded.value = !isFolded.value)}
      >
        <span>
          {list.length === 1 ? "An agent waits for you" : `${list.length} agents wait for you`}
          {isFolded.value && `: ${escapeUnseen(first.interaction.title)}`}
        </span>
        <span aria-hidden="true">{isFolded.value ? "▴" : "▾"}</span>
      </button>
      {!isFolded.value && (
        <div class="approvals-list">
          {list.slice(0, 5).map(({ interaction, standing: { item } }) => (
            <div key={interaction.id}>
              <a class="fine" href={`sessions/${item.session_id}`}>
                {item.title ?? item.session_id}
              </a>
              <Question interaction={interaction} agent={agentName(item.provider_id)} />
            </div>
          ))}
        </div>
      )}
    </aside>
  )
}
