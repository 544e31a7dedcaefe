import type { Session } from "@reins/client"
import { lazy, Suspense } from "preact/compat"
import { useEffect } from "preact/hooks"
import { askAgents } from "../agents/AgentNames.js"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { markSeen, useTitle } from "../told/Title.js"
import { Await, ErrorBar, Waiting } from "../ui/Basics.js"
import { ChangesTab } from "./ChangesTab.js"
import { ConversationTab } from "./ConversationTab.js"
import { EventsTab } from "./EventsTab.js"
import { FilesTab } from "./FilesTab.js"
import { useSeen } from "./Seen.js"
import { SessionHead } from "./SessionHead.js"
import { type SessionLog, useSessionLog } from "./SessionLog.js"
import { UsageTab } from "./UsageTab.js"

const RequestTab = lazy(() => import("../request/RequestTab.js").then(({ RequestTab }) => RequestTab))

const DelegationsTab = lazy(() => import("./DelegationsTab.js").then(({ DelegationsTab }) => DelegationsTab))

const tabs = [
  { part: "", name: "Conversation" },
  { part: "changes", name: "Changes" },
  { part: "request", name: "Request" },
  { part: "delegations", name: "Delegations" },
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
  useEffect(askAgents, [])
  const turn = log.conversation.turn
  useEffect(() => markSeen(sessionId), [sessionId])
  useSeen(sessionId, log.events.at(-1)?.seq ?? 0)
  const session = useLoaded("the session", (signal) => reins.sessions.get({ session_id: sessionId }, { signal }), [
    sessionId,
    turn?.id,
    turn?.state,
    turn?.acknowledged_at,
    log.events.findLast(({ type }) => type.startsWith("session."))?.seq
  ])
  useTitle(session.value.value?.title ?? "Session")
  return (
    <Await of={session}>
      {(value) => (
        <div class="session">
          <SessionHead session={value} loaded={session} hasFailed={turn?.state === "failed"} />
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
          {log.begins.value > 0 && <p class="fine">The events up to number {log.begins.value} are no longer kept.</p>}
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
    case "request":
      return (
        <Suspense fallback={<Waiting what="the page" />}>
          <RequestTab {...given} />
        </Suspense>
      )
    case "delegations":
      return (
        <Suspense fallback={<Waiting what="the page" />}>
          <DelegationsTab {...given} />
        </Suspense>
      )
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
