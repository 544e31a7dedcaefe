import type { Automation, AutomationRun } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { Await, Outcome, State } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { now } from "../ui/Now.js"
import { plain } from "../words/Words.js"
import { eventWords } from "./EventFields.js"
import { clock, moment, ownZone, wordsOf } from "./Times.js"

interface CardProps {
  readonly automation: Automation
  readonly reload: () => void
  /** Opens the form of the automation. */
  readonly change: () => void
}

const shownRuns = 20

/** An automation: when it comes next, how its runs have ended, and what can be done with it. */
export const AutomationCard = (props: CardProps) => {
  const { id: automation_id, last_run, name, pause_message, pause_reason, state } = props.automation
  const runs = useLoaded(
    "the runs",
    (signal) => reins.automations.listRuns({ automation_id, limit: shownRuns }, { signal }),
    [automation_id, last_run?.id, last_run?.state]
  )
  return (
    <li>
      <div class="section-head">
        <h2>{name}</h2>
        <State of={state} as={pause_reason === null ? state : `paused: ${plain(pause_reason)}`} />
      </div>
      <p class="fine">
        <When automation={props.automation} />
      </p>
      {pause_message !== null && <p>{forPeople(pause_message)}</p>}
      <Await of={runs}>{({ items }) => <History runs={items} />}</Await>
      <Buttons {...props} runsChanged={runs.reload} />
    </li>
  )
}

/** The trigger and the next run in words. A time of another zone is told by the clock there too. */
const When = ({ automation: { next_run_at, trigger } }: { readonly automation: Automation }) => {
  const zone = trigger.kind === "schedule" && trigger.timezone !== ownZone ? trigger.timezone : undefined
  return (
    <>
      {trigger.kind === "schedule" ? (
        <>
          {wordsOf(trigger.expression) ?? <code>{trigger.expression}</code>} in {trigger.timezone}
        </>
      ) : trigger.kind === "hook" ? (
        "when its hook is called"
      ) : trigger.kind === "event" ? (
        `with ${trigger.types.map((type) => eventWords[type] ?? type).join(" or ")}`
      ) : (
        `once, ${moment(trigger.at, now.value)}`
      )}
      {next_run_at !== null && (
        <>
          {" · next "}
          <time dateTime={next_run_at}>{moment(next_run_at, now.value)}</time>
          {zone !== undefined && ` (${clock(next_run_at, zone)} there)`}
        </>
      )}
    </>
  )
}

/** The newest runs by their ends, oldest first. */
const History = ({ runs }: { readonly runs: ReadonlyArray<AutomationRun> }) => {
  const newest = runs[0]
  if (newest === undefined) return <p class="fine">It has not run yet.</p>
  return (
    <>
      <ol class="runs" aria-label="Last runs, the newest at the end">
        {runs.toReversed().map((run) => (
          <li key={run.id}>
            <RunMark run={run} />
          </li>
        ))}
      </ol>
      <p class="fine">
        Last: {endOf(newest)} {moment(newest.due_at, now.value)}. {forPeople(newest.reason_message ?? "")}
      </p>
    </>
  )
}

const signs: Readonly<Record<AutomationRun["state"], string>> = {
  waiting: "…",
  running: "▸",
  succeeded: "✓",
  failed: "✕",
  cancelled: "■",
  skipped: "–"
}

const endOf = ({ reason, state }: AutomationRun): string => (reason === null ? state : `${state} (${plain(reason)})`)

/** A run as a square in the colour of its end. It leads to its session. */
const RunMark = ({ run }: { readonly run: AutomationRun }) => {
  const { due_at, reason_message, session_id, state } = run
  const words = `${endOf(run)} ${moment(due_at, now.value)}`
  const given = { class: `run ${state}`, title: `${words}. ${forPeople(reason_message ?? "")}`.trim() }
  const inside = (
    <>
      <span aria-hidden="true">{signs[state]}</span>
      <span class="sr">{words}</span>
    </>
  )
  return session_id === null ? (
    <span {...given}>{inside}</span>
  ) : (
    <a href={`sessions/${session_id}`} {...given}>
      {inside}
    </a>
  )
}

const Buttons = ({ automation, change, reload, runsChanged }: CardProps & { readonly runsChanged: () => void }) => {
  const { actions, id: automation_id } = automation
  const action = useAction()
  const act = (doing: string, work: () => Promise<unknown>) => () =>
    action.run(doing, async () => {
      await work()
      reload()
    })
  const run = async () => {
    await reins.automations.startRun({ automation_id })
    runsChanged()
  }
  const button = (words: string, does: () => unknown) => (
    <button type="button" class="small" onClick={does}>
      {words}
    </button>
  )
  return (
    <>
      <div class="actions">
        {actions.includes("start_run") && button("Run now", act("the run", run))}
        {actions.includes("pause") &&
          button(
            "Pause",
            act("the pause", () => reins.automations.pause({ automation_id }))
          )}
        {actions.includes("resume") &&
          button(
            "Resume",
            act("the resumption", () => reins.automations.resume({ automation_id }))
          )}
        {actions.includes("update") && button("Change", change)}
        {actions.includes("delete") && (
          <Confirm
            act={act("the deletion", () => reins.automations.delete({ automation_id }))}
            ask="It begins no more runs. Its sessions stay. Delete it?"
          >
            Delete
          </Confirm>
        )}
      </div>
      <Outcome of={action} />
    </>
  )
}
