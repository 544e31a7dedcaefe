import "../styles/delegations.css"
import { useSignal } from "@preact/signals"
import type { Changeset, Delegation } from "@reins/client"
import { lazy, Suspense } from "preact/compat"
import { useMemo } from "preact/hooks"
import { agentName } from "../agents/AgentNames.js"
import { useEvery, useLoaded } from "../api/Loading.js"
import { reasonInFull } from "../api/Reasons.js"
import { reins } from "../api/Server.js"
import { reviewOf } from "../review/Review.js"
import { Await, Nothing, State, Waiting } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { count, duration } from "../words/Words.js"
import type { TabProps } from "./SessionPage.js"

/** The diff view is larger than the rest of the console, and only an open diff needs it. */
const DiffView = lazy(() => import("../review/DiffView.js").then(({ DiffView }) => DiffView))

/** The time between two looks at delegations that go on, in milliseconds. */
const lookMs = 3000

/** The sessions that work for a session, and those that work for them, with the diff of each. */
export const DelegationsTab = ({ log, session }: TabProps) => {
  void log.revision.value
  const told = log.events.findLast(({ type }) => type.startsWith("delegation."))?.seq
  return (
    <div class="scroll">
      {session.parent_delegation_id !== null && <WorksFor delegationId={session.parent_delegation_id} />}
      <section aria-label="Delegations">
        <Children sessionId={session.id} told={told} isTop />
      </section>
    </div>
  )
}

/** Leads to the session that has delegated this one. */
const WorksFor = ({ delegationId }: { readonly delegationId: string }) => {
  const parent = useLoaded(
    "the session that delegates",
    async (signal) => {
      const { session_id } = await reins.delegations.get({ delegation_id: delegationId }, { signal })
      return await reins.sessions.get({ session_id }, { signal })
    },
    [delegationId]
  )
  return (
    <Await of={parent}>
      {({ id, title }) => (
        <p>
          This session works for <a href={`sessions/${id}/delegations`}>{title ?? "another session"}</a>.
        </p>
      )}
    </Await>
  )
}

const isOver = ({ finished_at }: Delegation): boolean => finished_at !== null

/** The delegations of a session, as a level of the tree. A level below another one is left out where it is empty. */
const Children = ({
  isTop = false,
  sessionId,
  told
}: {
  readonly sessionId: string
  /** Changes when there is news of them. */
  readonly told: number | string | undefined
  readonly isTop?: boolean
}) => {
  const delegations = useLoaded("the delegations", (signal) => allOf(sessionId, signal), [sessionId, told])
  useEvery(lookMs, delegations.value.value?.some((each) => !isOver(each)) === true, delegations.reload)
  return (
    <Await of={delegations}>
      {(items) =>
        items.length === 0 ? (
          isTop && <Nothing>This session has delegated nothing. An agent delegates with its tools of Reins.</Nothing>
        ) : (
          <ul class="delegations">
            {items.map((each) => (
              <Child key={each.id} delegation={each} />
            ))}
          </ul>
        )
      }
    </Await>
  )
}

const allOf = async (session_id: string, signal: AbortSignal): Promise<ReadonlyArray<Delegation>> => {
  const found: Array<Delegation> = []
  for await (const each of reins.sessions.listDelegations({ session_id, limit: 100 }, { signal })) found.push(each)
  return found.reverse()
}

const Child = ({ delegation }: { readonly delegation: Delegation }) => {
  const { child_session_id, created_at, finished_at, id, reason, role, state, version } = delegation
  const child = useLoaded(
    "the session",
    async (signal) => ({
      session: await reins.sessions.get({ session_id: child_session_id }, { signal }),
      changeset: await newestOf(child_session_id, signal)
    }),
    [id, version]
  )
  const ends = finished_at ?? new Date(now.value).toISOString()
  return (
    <li>
      <div class="row-line">
        <State of={state} />
        <a href={`sessions/${child_session_id}`}>{role}</a>
        <span class="fine">
          {child.value.value !== undefined && `${agentName(child.value.value.session.harness.provider_id)} · `}
          {duration(created_at, ends)}
        </span>
      </div>
      {reason !== null && <p class="fine">{reasonInFull(delegation)}</p>}
      <Await of={child}>{({ changeset }) => changeset !== undefined && <ChildDiff changeset={changeset} />}</Await>
      <Children sessionId={child_session_id} told={`${version} ${state}`} />
    </li>
  )
}

/** The newest sealed changeset of a session that changes something. */
const newestOf = async (session_id: string, signal: AbortSignal): Promise<Changeset | undefined> => {
  for await (const each of reins.sessions.listChangesets({ session_id, state: "ready", limit: 50 }, { signal }))
    if (!each.empty) return each
  return undefined
}

const ChildDiff = ({ changeset }: { readonly changeset: Changeset }) => {
  const { additions, deletions, file_count, id, session_id } = changeset
  const isOpen = useSignal(false)
  return (
    <details
      class="delegation-diff"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open
      }}
    >
      <summary>
        Diff of {count(file_count, "file")} <ins>+{additions}</ins> <del>−{deletions}</del>
      </summary>
      {isOpen.value && (
        <>
          <p>
            <a href={`sessions/${session_id}/review/${id}`}>Review and deliver</a>
          </p>
          <Diff changesetId={id} />
        </>
      )}
    </details>
  )
}

const Diff = ({ changesetId: changeset_id }: { readonly changesetId: string }) => {
  const review = useMemo(() => reviewOf(changeset_id), [changeset_id])
  const diff = useLoaded("the diff", (signal) => reins.changesets.getDiff({ changeset_id }, { signal }), [changeset_id])
  return (
    <Await of={diff}>
      {({ diff: text }) => (
        <div class="delegation-lines" style={{ "--lines": `${text.split("\n").length}` }}>
          <Suspense fallback={<Waiting what="the diff view" />}>
            <DiffView around={async () => ({ diff: text })} diff={text} isReadOnly isSplit={false} review={review} />
          </Suspense>
        </div>
      )}
    </Await>
  )
}
