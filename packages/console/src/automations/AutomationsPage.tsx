import type { Automation, AutomationRun } from "@reins/client"
import { useAction, useEvery, useLoaded } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { Await, Nothing, Outcome, PageHead, State, Time } from "../ui/Basics.js"
import { plain } from "../words/Words.js"

/** The work of the workspace that begins by itself: when it comes next, and how its runs have ended. */
export const AutomationsPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const list = useLoaded(
    "the automations",
    (signal) => reins.automations.list({ workspace_id: workspaceId, limit: 100 }, { signal }),
    [workspaceId]
  )
  useEvery(5000, true, list.reload)
  return (
    <>
      <PageHead title="Automations" under="Work that begins by itself, at its times." />
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <Nothing>
              There is no automation. Make one with <code>reins automations add</code>.
            </Nothing>
          ) : (
            <ul class="cards">
              {items.map((each) => (
                <AutomationCard key={each.id} automation={each} reload={list.reload} />
              ))}
            </ul>
          )
        }
      </Await>
    </>
  )
}

interface CardProps {
  readonly automation: Automation
  readonly reload: () => void
}

const AutomationCard = ({ automation, reload }: CardProps) => {
  const { id: automation_id, last_run, name, pause_message, pause_reason, state } = automation
  const runs = useLoaded("the runs", (signal) => reins.automations.listRuns({ automation_id, limit: 10 }, { signal }), [
    automation_id,
    last_run?.id,
    last_run?.state
  ])
  return (
    <li>
      <div class="section-head">
        <h2>{name}</h2>
        <State of={state} as={pause_reason === null ? state : `paused: ${plain(pause_reason)}`} />
      </div>
      <p class="fine">
        <When automation={automation} />
      </p>
      {pause_message !== null && <p>{forPeople(pause_message)}</p>}
      <Await of={runs}>{({ items }) => <History runs={items} />}</Await>
      <Buttons automation={automation} reload={reload} />
    </li>
  )
}

/** The schedule in its own words, with the next run in the zone of the automation and in that of the reader. */
const When = ({ automation: { next_run_at, trigger } }: { readonly automation: Automation }) => {
  const next = next_run_at === null ? undefined : new Date(next_run_at)
  const zone = trigger.kind === "schedule" ? trigger.timezone : undefined
  return (
    <>
      {trigger.kind === "schedule" ? (
        <>
          <code>{trigger.expression}</code> in {trigger.timezone}
        </>
      ) : trigger.kind === "hook" ? (
        "when a hook is called"
      ) : (
        "once"
      )}
      {next !== undefined && (
        <>
          {" · next "}
          <time dateTime={next.toISOString()}>
            {zone !== undefined && `${next.toLocaleString("en-GB", { ...shown, timeZone: zone })} there, `}
            {next.toLocaleString("en-GB", shown)} here
          </time>
        </>
      )}
    </>
  )
}

const shown = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const

/** The newest runs by their ends, oldest first. Each says why, and leads to its session. */
const History = ({ runs }: { readonly runs: ReadonlyArray<AutomationRun> }) => {
  const newest = runs[0]
  if (newest === undefined) return <p class="fine">It has not run yet.</p>
  return (
    <>
      <p class="strip">
        {runs.toReversed().map((run) => (
          <RunMark key={run.id} run={run} />
        ))}
      </p>
      <p class="fine">
        <Time at={newest.due_at} /> {forPeople(newest.reason_message ?? "")}
      </p>
    </>
  )
}

const RunMark = ({ run: { due_at, reason, reason_message, session_id, state } }: { readonly run: AutomationRun }) => {
  const mark = <State of={state} as={reason === null ? state : `${state}: ${plain(reason)}`} />
  const title = `${new Date(due_at).toLocaleString()} ${forPeople(reason_message ?? "")}`.trim()
  return session_id === null ? (
    <span title={title}>{mark} </span>
  ) : (
    <>
      <a href={`sessions/${session_id}`} title={title}>
        {mark}
      </a>{" "}
    </>
  )
}

const Buttons = ({ automation: { actions, id: automation_id }, reload }: CardProps) => {
  const action = useAction()
  const act = (doing: string, work: () => Promise<unknown>) => () =>
    action.run(doing, async () => {
      await work()
      reload()
    })
  return (
    <>
      <div class="actions">
        {actions.includes("start_run") && (
          <button
            type="button"
            class="small"
            onClick={act("the run", () => reins.automations.startRun({ automation_id }))}
          >
            Run now
          </button>
        )}
        {actions.includes("pause") && (
          <button
            type="button"
            class="small"
            onClick={act("the pause", () => reins.automations.pause({ automation_id }))}
          >
            Pause
          </button>
        )}
        {actions.includes("resume") && (
          <button
            type="button"
            class="small"
            onClick={act("the resumption", () => reins.automations.resume({ automation_id }))}
          >
            Resume
          </button>
        )}
      </div>
      <Outcome of={action} />
    </>
  )
}
