import { useSignal } from "@preact/signals"
import type { Session } from "@reins/client"
import { type Loaded, useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Await, ErrorBar, Outcome, PageHead, State } from "../ui/Basics.js"
import { plain } from "../words/Words.js"
import { ChangesTab } from "./ChangesTab.js"
import { ConversationTab } from "./ConversationTab.js"
import { EventsTab } from "./EventsTab.js"
import { FilesTab } from "./FilesTab.js"
import { type SessionLog, useSessionLog } from "./SessionLog.js"
import { UsageTab } from "./UsageTab.js"

const tabs = [
  { part: "", name: "Conversation" },
  { part: "changes", name: "Changes" },
  { part: "files", name: "Files" },
  { part: "events", name: "Events" },
  { part: "usage", name: "Usage" }
] as const

/** The properties of every tab of a session. */
export interface TabProps {
  readonly session: Session
  readonly log: SessionLog
  /** Reads the session again. */
  readonly reload: () => void
}

/** A session: its conversation, and what came of it. */
export const SessionPage = ({ sessionId, tab }: { readonly sessionId: string; readonly tab: string }) => {
  const log = useSessionLog(sessionId)
  void log.revision.value
  const turn = log.conversation.turn
  const session = useLoaded("the session", (signal) => reins.sessions.get({ session_id: sessionId }, { signal }), [
    sessionId,
    turn?.id,
    turn?.state,
    turn?.acknowledged_at,
    log.events.findLast(({ type }) => type.startsWith("session."))?.seq
  ])
  return (
    <Await of={session}>
      {(value) => (
        <div class="session">
          <Head session={value} loaded={session} />
          <nav class="tabs" aria-label="Parts of the session">
            {tabs.map(({ name, part }) => (
              <a
                key={part}
                href={part === "" ? `sessions/${sessionId}` : `sessions/${sessionId}/${part}`}
                aria-current={tab === part ? "page" : undefined}
              >
                {name}
              </a>
            ))}
          </nav>
          <ErrorBar failure={log.failure.value} />
          {log.begins.value > 0 && (
            <p class="fine">Events up to {log.begins.value} are kept no longer, so that what is shown begins there.</p>
          )}
          <Tab tab={tab} session={value} log={log} reload={session.reload} />
        </div>
      )}
    </Await>
  )
}

const Tab = ({ tab, ...given }: TabProps & { readonly tab: string }) => {
  switch (tab) {
    case "":
      return <ConversationTab {...given} />
    case "changes":
      return <ChangesTab {...given} />
    case "files":
      return <FilesTab {...given} />
    case "events":
      return <EventsTab {...given} />
    case "usage":
      return <UsageTab {...given} />
    default:
      return <p>A session has no such part.</p>
  }
}

const Head = ({ loaded, session }: { readonly session: Session; readonly loaded: Loaded<Session> }) => {
  const action = useAction()
  const { actions, activity, base, executor, harness, id, lifecycle } = session
  const session_id = id
  const isClosing = useSignal(false)
  const act = (doing: string, work: () => Promise<unknown>) =>
    action.run(doing, async () => {
      await work()
      loaded.reload()
    })
  const menu = [
    { name: "archive", does: "Archive", run: () => reins.sessions.archive({ session_id }) },
    { name: "unarchive", does: "Open again", run: () => reins.sessions.unarchive({ session_id }) },
    {
      name: "activate_executor",
      does: "Start the executor",
      run: () => reins.sessions.activateExecutor({ session_id })
    },
    {
      name: "release_executor",
      does: "Stop the executor",
      run: () => reins.sessions.releaseExecutor({ session_id })
    },
    { name: "close", does: "Close for good …", run: () => reins.sessions.close({ session_id }) }
  ] as const
  const possible = menu.filter(({ name }) => actions.includes(name))
  return (
    <>
      <PageHead
        title={session.title ?? "Session"}
        under={
          <>
            <State of={lifecycle === "open" ? activity : lifecycle} /> {harness.provider_id}
            {harness.model !== null && ` · ${harness.model}`} · executor {executor.backend} {plain(executor.state)}
            {base.repository !== null && (
              <>
                {" "}
                · <span class="repository">{base.repository}</span>
                {base.ref !== null && ` at ${base.ref}`}
              </>
            )}{" "}
            · <code>{id}</code>
            {Object.entries(session.labels).map(([name, value]) => (
              <span key={name} class="label">
                {name}={value}
              </span>
            ))}
          </>
        }
      >
        {mayWrite.value && possible.length > 0 && (
          <details class="dropdown">
            <summary class="button">Session</summary>
            <div>
              {possible.map(({ does, name, run }) => (
                <button
                  key={name}
                  type="button"
                  onClick={() => {
                    if (name === "close") isClosing.value = true
                    else void act(`the session: ${does.toLowerCase()}`, run)
                  }}
                >
                  {does}
                </button>
              ))}
            </div>
          </details>
        )}
      </PageHead>
      <Outcome of={action} />
      {isClosing.value && (
        <Ask
          title="Close this session for good?"
          verb="Close for good"
          isDanger
          close={() => (isClosing.value = false)}
          act={() => act("the session: close", () => reins.sessions.close({ session_id }))}
        >
          <p>
            <strong>{session.title ?? id}</strong> takes no more messages then, and nobody can open it again. Its
            conversation and its changesets stay readable.
          </p>
          {activity === "running" && <p class="notice ask">Its turn still runs and is cancelled.</p>}
          <p class="fine">To put it out of the inbox only, archive it.</p>
        </Ask>
      )}
    </>
  )
}
