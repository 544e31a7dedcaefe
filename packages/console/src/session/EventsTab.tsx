import { useSignal } from "@preact/signals"
import type { Event } from "@reins/client"
import { useMemo } from "preact/hooks"
import { serviceUrl } from "../api/Server.js"
import { Copy, Waiting } from "../ui/Basics.js"
import { VirtualList } from "../ui/VirtualList.js"
import { count } from "../words/Words.js"
import type { TabProps } from "./SessionPage.js"

/** The log of the session as it is: every event with its number and its JSON. */
export const EventsTab = ({ log, session }: TabProps) => {
  const revision = log.revision.value
  const filter = useSignal("")
  const open = useSignal<ReadonlySet<number>>(new Set())
  const shown = useMemo(
    () => log.events.filter(({ type }) => type.includes(filter.value)),
    [log, revision, filter.value]
  )
  const toggle = (seq: number) => {
    const next = new Set(open.value)
    if (!next.delete(seq)) next.add(seq)
    open.value = next
  }
  return (
    <div class="events">
      <div class="section-head">
        <input
          type="search"
          aria-label="Type of events"
          placeholder="Type, as in turn. or tool.completed"
          value={filter.value}
          onInput={({ currentTarget }) => (filter.value = currentTarget.value.trim())}
        />
        <span>
          <span class="fine">{count(shown.length, "event")}</span>{" "}
          <Copy label="Copy as curl" text={curlOf(session.id)} />
        </span>
      </div>
      {!log.isWhole.value && log.failure.value === undefined && <Waiting what="the events" />}
      <VirtualList
        items={shown}
        keyOf={({ seq }) => `${seq}`}
        estimate={() => 30}
        label="Events"
        render={(event) => (
          <EventRow event={event} isOpen={open.value.has(event.seq)} toggle={() => toggle(event.seq)} />
        )}
      />
    </div>
  )
}

const EventRow = ({
  event,
  isOpen,
  toggle
}: {
  readonly event: Event
  readonly isOpen: boolean
  readonly toggle: () => void
}) => (
  <div class="event">
    <button type="button" class="event-line" aria-expanded={isOpen} onClick={toggle}>
      <span class="number">{event.seq}</span>
      <span class="type">{event.type}</span>
      <span class="fine">{event.recorded_at.slice(11, 23)}</span>
    </button>
    {isOpen && (
      <div class="event-json">
        <Copy label="Copy JSON" text={JSON.stringify(event, null, 2)} />{" "}
        <Copy label="Copy as curl" text={curlOf(event.session_id, event.seq)} />
        <code class="block">{JSON.stringify(event, null, 2)}</code>
      </div>
    )}
  </div>
)

/** The command that reads the same from a shell. */
const curlOf = (session_id: string, seq?: number): string => {
  const query = seq === undefined ? "" : `?after=${seq - 1}&limit=1`
  return `curl -sS '${serviceUrl}/api/sessions/${session_id}/events${query}' -H "Authorization: Bearer $REINS_API_KEY"`
}
