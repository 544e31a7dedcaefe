import { signal, useSignal } from "@preact/signals"
import type { WorkItem } from "@reins/client"
import { agentName } from "../agents/AgentNames.js"
import { useLoaded } from "../api/Loading.js"
import { reasonInShort } from "../api/Reasons.js"
import { forPeople } from "../api/Sentences.js"
import { reins, wholeOf } from "../api/Server.js"
import { ErrorBar, Nothing, PageHead, State, Time, Waiting } from "../ui/Basics.js"
import { count, dollars } from "../words/Words.js"
import { Ended } from "./Ended.js"
import { requestNeeds, type Section, type Standing, sectionOf, sections } from "./Standing.js"
import { failure, hasMore, more, standings, workspace } from "./Workspace.js"

const project = signal("")
const label = signal("")

const titles: Readonly<Record<Section, string>> = {
  needs_you: "Needs you",
  running: "Running",
  ready_to_review: "Ready to review",
  failed: "Failed",
  delivered: "Delivered",
  quiet: "Quiet"
}

/** The sessions of the workspace by what they need. */
export const Inbox = () => {
  const all = standings.value
  const shown = (all ?? []).filter(isWanted)
  return (
    <>
      <PageHead title="Inbox" under={workspace.value?.name}>
        <a class="button primary" href="new">
          New session
        </a>
      </PageHead>
      <ErrorBar failure={failure.value} />
      <Filters />
      {all === undefined && failure.value === undefined && <Waiting what="the sessions of the workspace" />}
      {all !== undefined && shown.length === 0 && (
        <Nothing>
          {all.length === 0 ? (
            <>
              <p>There is no session yet.</p>
              <p>
                <a href="start">First steps</a> lead to your first one: an agent, a connection, a message. All set up?{" "}
                <a href="new">Start a session</a>.
              </p>
            </>
          ) : (
            <p>No session has this project and label.</p>
          )}
        </Nothing>
      )}
      {sections.map((section) => (
        <SectionList key={section} section={section} list={shown.filter((each) => sectionOf(each) === section)} />
      ))}
      {hasMore.value && (
        <p class="middle">
          <button type="button" onClick={more}>
            Show older sessions
          </button>
        </p>
      )}
      <Ended />
    </>
  )
}

const isWanted = ({ item }: Standing): boolean =>
  (project.value === "" || item.project_id === project.value) &&
  (label.value === "" || Object.entries(item.labels).some(([name, value]) => `${name}=${value}` === label.value))

const Filters = () => {
  const workspace_id = workspace.value?.id ?? ""
  const projects = useLoaded(
    "the projects",
    (signal) => wholeOf(reins.projects.list({ workspace_id, limit: 100 }, { signal })),
    [workspace_id]
  )
  const labels = [
    ...new Set(
      (standings.value ?? []).flatMap(({ item }) =>
        Object.entries(item.labels).map(([name, value]) => `${name}=${value}`)
      )
    )
  ].sort()
  const items = projects.value.value?.items ?? []
  if (items.length === 0 && labels.length === 0) return null
  return (
    <div class="filters">
      {items.length > 0 && (
        <select
          aria-label="Project"
          value={project.value}
          onChange={({ currentTarget }) => (project.value = currentTarget.value)}
        >
          <option value="">All projects</option>
          {items.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      {labels.length > 0 && (
        <select
          aria-label="Label"
          value={label.value}
          onChange={({ currentTarget }) => (label.value = currentTarget.value)}
        >
          <option value="">All labels</option>
          {labels.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
    </div>
  )
}

/** The rows of a part that are shown until somebody wants more of them. */
const rowsOfStep = 25

const SectionList = ({ list, section }: { readonly section: Section; readonly list: ReadonlyArray<Standing> }) => {
  const shown = useSignal(rowsOfStep)
  const left = list.length - shown.value
  return list.length === 0 ? null : (
    <section class="inbox" aria-label={titles[section]}>
      <h2>
        {titles[section]} <span class="fine">{list.length}</span>
      </h2>
      <ul>
        {list.slice(0, shown.value).map((standing) => (
          <li key={standing.item.session_id}>
            <SessionRow standing={standing} section={section} />
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p class="middle">
          <button type="button" onClick={() => (shown.value += rowsOfStep)}>
            Show {Math.min(left, rowsOfStep)} more of {list.length}
          </button>
        </p>
      )}
    </section>
  )
}

const SessionRow = ({ section, standing: { item } }: { readonly standing: Standing; readonly section: Section }) => {
  const { changeset, cost_usd, labels, session_id, since, title, unread } = item
  const page = `sessions/${session_id}`
  const isReview = section === "ready_to_review" && changeset !== null
  const isRequest = item.state === "handed_over" || item.state === "needs_changes"
  return (
    <a
      class={unread ? "session-row unread" : "session-row"}
      href={isReview ? `${page}/review/${changeset.id}` : isRequest ? `${page}/request` : page}
    >
      <span class="title">
        {title ?? session_id}
        {unread && <span class="new">new</span>}
      </span>
      <span class="why">{reasonOf(item)}</span>
      <span class="facts">
        {changeset !== null && (
          <span class="delta">
            {count(changeset.files, "file")} <ins>+{changeset.additions}</ins> <del>−{changeset.deletions}</del>
          </span>
        )}
        {Object.entries(labels).map(([name, value]) => (
          <span key={name} class="label">
            {name}={value}
          </span>
        ))}
        <span>{agentName(item.provider_id)}</span>
        {cost_usd !== null && <span>{dollars(cost_usd)}</span>}
        <Time at={since} />
      </span>
    </a>
  )
}

/** The sentence of a session: what it waits for, or how it ended. */
const reasonOf = (item: WorkItem) => {
  const { delivery, merge_request, questions, turn } = item
  const [question] = questions
  if (item.state === "asks" && question !== undefined)
    return (
      <>
        <State of="requires_action" as={question.kind} /> {forPeople(question.title) || question.title}
        {questions.length > 1 && ` · and ${count(questions.length - 1, "question")} more`}
      </>
    )
  if (item.state === "interrupted" || item.state === "queued") return turnReason(item)
  if (delivery !== null && /^(?:blocked|failed|pending|executing)$/.test(delivery.state))
    return (
      <>
        <State of={delivery.state} as={`delivery ${delivery.state}`} /> {reasonInShort(delivery) || delivery.branch}
      </>
    )
  if (item.state === "running" || item.state === "review" || (turn?.state === "failed" && item.state === "failed"))
    return turnReason(item)
  if (item.left !== null)
    return (
      <>
        <State of="requires_action" as="merge request" /> {requestNeeds(item).join(", ")}
      </>
    )
  if (merge_request !== null)
    return (
      <>
        <State of={merge_request.state} as={`merge request ${merge_request.state}`} />{" "}
        {reasonInShort(merge_request) ||
          requestNeeds(item).join(", ") ||
          `#${merge_request.number ?? "…"} into ${merge_request.base_branch}`}
      </>
    )
  if (item.state === "delivered") return <State of="delivered" as={`delivered as ${delivery?.branch ?? ""}`} />
  return turnReason(item)
}

const turnReason = ({ changeset, lifecycle, state, turn }: WorkItem) => {
  if (turn === null) return <State of={lifecycle} as={lifecycle === "open" ? "no message yet" : lifecycle} />
  return (
    <>
      <State of={turn.state} /> {reasonInShort(turn)}
      {state === "review" && changeset?.origin === "salvage" && " · what an ended turn left behind"}
    </>
  )
}
