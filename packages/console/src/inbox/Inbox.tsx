import { signal } from "@preact/signals"
import { agentName } from "../agents/AgentNames.js"
import { useLoaded } from "../api/Loading.js"
import { reasonInShort } from "../api/Reasons.js"
import { forPeople } from "../api/Sentences.js"
import { reins, wholeOf } from "../api/Server.js"
import { ErrorBar, Nothing, PageHead, State, Time, Waiting } from "../ui/Basics.js"
import { count, dollars } from "../words/Words.js"
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
    </>
  )
}

const isWanted = ({ session }: Standing): boolean =>
  session.lifecycle !== "archived" &&
  (project.value === "" || session.project_id === project.value) &&
  (label.value === "" || Object.entries(session.labels).some(([name, value]) => `${name}=${value}` === label.value))

const Filters = () => {
  const workspace_id = workspace.value?.id ?? ""
  const projects = useLoaded(
    "the projects",
    (signal) => wholeOf(reins.projects.list({ workspace_id, limit: 100 }, { signal })),
    [workspace_id]
  )
  const labels = [
    ...new Set(
      (standings.value ?? []).flatMap(({ session }) =>
        Object.entries(session.labels).map(([name, value]) => `${name}=${value}`)
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

const SectionList = ({ list, section }: { readonly section: Section; readonly list: ReadonlyArray<Standing> }) =>
  list.length === 0 ? null : (
    <section class="inbox" aria-label={titles[section]}>
      <h2>
        {titles[section]} <span class="fine">{list.length}</span>
      </h2>
      <ul>
        {list.map((standing) => (
          <li key={standing.session.id}>
            <SessionRow standing={standing} section={section} />
          </li>
        ))}
      </ul>
    </section>
  )

const SessionRow = ({ section, standing }: { readonly standing: Standing; readonly section: Section }) => {
  const { changeset, session, turn } = standing
  const usage = turn?.usage.cost_usd ?? null
  const page = `sessions/${session.id}`
  const isReview = section === "ready_to_review" && changeset !== null
  const isRequest = section === "needs_you" && isAboutRequest(standing)
  return (
    <a class="session-row" href={isReview ? `${page}/review/${changeset.id}` : isRequest ? `${page}/request` : page}>
      <span class="title">{session.title ?? session.id}</span>
      <span class="why">{reasonOf(standing, section)}</span>
      <span class="facts">
        {changeset !== null && !changeset.empty && (
          <span class="delta">
            {count(changeset.file_count, "file")} <ins>+{changeset.additions}</ins> <del>−{changeset.deletions}</del>
          </span>
        )}
        {Object.entries(session.labels).map(([name, value]) => (
          <span key={name} class="label">
            {name}={value}
          </span>
        ))}
        <span>{agentName(session.harness.provider_id)}</span>
        {usage !== null && <span>{dollars(usage)}</span>}
        <Time at={standing.at} />
      </span>
    </a>
  )
}

/** True where nothing but its merge request needs a person. */
const isAboutRequest = ({ delivery, interactions, left, mergeRequest }: Standing): boolean =>
  interactions.length === 0 &&
  delivery?.state !== "blocked" &&
  (left !== null || (mergeRequest !== null && requestNeeds(mergeRequest).length > 0))

/** The sentence of a session: what it waits for, or how it ended. */
const reasonOf = (
  { changeset, delivery, interactions, left, mergeRequest, session, turn }: Standing,
  section: Section
) => {
  const [question] = interactions
  if (question !== undefined)
    return (
      <>
        <State of="requires_action" as={question.kind} /> {forPeople(question.title) || question.title}
      </>
    )
  if (delivery !== null && /^(?:blocked|failed|pending|executing)$/.test(delivery.state))
    return (
      <>
        <State of={delivery.state} as={`delivery ${delivery.state}`} /> {reasonInShort(delivery) || delivery.target_ref}
      </>
    )
  if (left !== null)
    return (
      <>
        <State of="requires_action" as="merge request" /> {left}
      </>
    )
  if (mergeRequest !== null)
    return (
      <>
        <State of={mergeRequest.state} as={`merge request ${mergeRequest.state}`} />{" "}
        {reasonInShort(mergeRequest) ||
          requestNeeds(mergeRequest).join(", ") ||
          `#${mergeRequest.number ?? "…"} into ${mergeRequest.base_branch}`}
      </>
    )
  if (section === "delivered") return <State of="delivered" as={`delivered as ${delivery?.target_ref ?? ""}`} />
  if (turn === null)
    return <State of={session.lifecycle} as={session.lifecycle === "open" ? "no message yet" : session.lifecycle} />
  return (
    <>
      <State of={turn.state} /> {reasonInShort(turn)}
      {section === "ready_to_review" && changeset?.origin === "salvage" && " · what an ended turn left behind"}
    </>
  )
}
