import { Event, EventSubjects, type EventType } from "@reins/base/domain/Event"
import { allEvents, eventTypes, workspaceEventTypes } from "@reins/core/Events"
import type { Schema } from "effect"
import { made, table } from "./Markdown.js"
import { recorded } from "./Recorded.js"
import { fieldTable } from "./SchemaText.js"

/** The title of each family of types, in the order of the page. */
const families: Readonly<Record<string, string>> = {
  session: "Sessions",
  message: "Messages",
  turn: "Turns",
  tool: "Tool calls",
  mcp: "Servers of tools",
  plan: "Plans",
  agent: "Agents",
  usage: "Usage",
  diagnostic: "Diagnostics",
  executor: "Executors",
  setup: "Setups",
  workspace: "Workspaces",
  changeset: "Changesets",
  delivery: "Deliveries",
  merge_request: "Merge requests",
  delegation: "Delegations",
  artifact: "Artifacts"
}

const familyOf = (type: EventType): string => type.split(".")[0] ?? ""

/** The types of a family that have the same payload, together. */
const payloadsOf = (
  types: ReadonlyArray<EventType>
): ReadonlyArray<readonly [Schema.Schema.AnyNoContext, ReadonlyArray<EventType>]> => {
  const groups = new Map<Schema.Schema.AnyNoContext, Array<EventType>>()
  for (const type of types) groups.set(allEvents[type].payload, [...(groups.get(allEvents[type].payload) ?? []), type])
  return [...groups]
}

const quoted = (types: ReadonlyArray<string>): string => types.map((type) => `\`${type}\``).join(", ")

const listedFamilies = [...new Set(workspaceEventTypes.map((type) => `${familyOf(type)}.*`))]

const section = (family: string, title: string): string => {
  const types = eventTypes.filter((type) => familyOf(type) === family)
  const payloads = payloadsOf(types)
  return [
    `### ${title}\n\n${table(
      ["Type", "When it comes"],
      types.map((type) => [`\`${type}\``, allEvents[type].text])
    )}`,
    ...payloads.map(
      ([schema, own]) => `Payload${payloads.length === 1 ? "" : ` of ${quoted(own)}`}:\n\n${fieldTable(schema)}`
    )
  ].join("\n")
}

/** docs/events.md */
export const events = (): string => {
  const unknown = eventTypes.filter((type) => !(familyOf(type) in families))
  if (unknown.length > 0) throw new Error(`These types belong to no family: ${unknown.join(", ")}`)
  return `# Events

${made("packages/base/src/domain/Event.ts and the Events.ts of each room")}An event is one fact of a session. Its \`seq\` starts at 1 and has no gaps, so that a reader knows when it has missed something. The pair of
\`session_id\` and \`seq\` never changes its meaning. There are ${eventTypes.length} types.

<!-- schema: Event -->
\`\`\`json
${JSON.stringify(recorded("changeset.ready"), null, 2)}
\`\`\`

${fieldTable(Event)}
The ids ${quoted(Object.keys(EventSubjects.fields))} name what the event belongs to besides its session; each is absent where there is none. A type that a
client does not know is passed over: new ones may come with a release.

## Reading them

\`GET /api/sessions/{session_id}/events\` answers in two forms.

**A page** of JSON, unless the caller asks for a stream: \`{ "items", "next_after", "has_more", "event_watermark" }\`. \`next_after\` is the \`after\` of the
next page. \`event_watermark\` is the \`seq\` of the newest event.

**A stream**, with \`Accept: text/event-stream\`: first what is in the log, then each event as it is committed. A frame is
\`id: <seq>\`, \`event: <type>\` and \`data: <the event as JSON>\`.

| Query | Default | What it does |
| --- | --- | --- |
| \`after\` | the beginning | begins behind this \`seq\` |
| \`limit\` | 500 | the events of a page; 1,000 at most |
| \`types\` | all | a comma list of types, or of families as in \`turn.*\` |
| \`turn_id\` | all | the events of one turn |
| \`max_seconds\` | 600 | ends a stream after so long; 600 at most |
| \`deltas\` | false | a stream also gives words before they are in the log |

## Resuming

Keep the \`seq\` of the last event that you have dealt with, and go on with \`after\` or with the header \`Last-Event-ID\`. The header counts when both
are there. Nothing is missed and nothing comes twice. Where events are left out by \`types\`, a frame with an \`id\` alone moves a reader beyond them.

A stream ends with \`event: stream.end\` and \`data: {"reason", "next_after"}\`. The reason is \`max_seconds\`, \`shutdown\` of the server, or
\`slow_consumer\` for a reader that fell behind. It is \`refused\` when the caller may no longer read; the next request says why. A line \`: heartbeat\` comes every 15 seconds, so a reader that hears nothing for three of them opens a new stream.

A browser's own \`EventSource\` reconnects after all of these and after a broken connection. It gives up for good on any answer other than 200, such as
the 502 of nginx while a killed server is away. When its \`readyState\` is \`CLOSED\`, make a new one with \`?after=<lastEventId>\`. The client does all of
this by itself.

Where an installation keeps events for a time only (\`REINS_EVENT_RETENTION_DAYS\`), an \`after\` from before that is answered with
\`history_reset_required\`, which says where to go on.

## All sessions of a workspace

\`GET /api/workspaces/{workspace_id}/events\` is one stream for a list of sessions: of every session that the workspace has,
and of those that it will have. It has ${quoted(listedFamilies)}. It answers in the same two forms and with the same limits, and needs no more than the right to
read the workspace. The rest of this page holds for it too, with these differences:

- An event has a **position** in the workspace, counted from 1 without a gap. It is the \`id\` of a frame, and what \`after\`, \`Last-Event-ID\` and
  \`next_after\` mean. \`data\` is the event as its session gives it, whose own \`seq\` counts in the session.
- An item of a page is \`{ "position", "event" }\`, and \`event_watermark\` is the newest position.
- The events of one session come in the order of their \`seq\`. Those of different sessions come in the order in which they were committed or read,
  which is nearly that of time.
- \`types\` takes the types above. \`project_id\` picks the sessions of a project, and \`label\` those that have a label now, as \`name=value\`. A
  \`session.updated\` then comes whatever the labels are, because it may tell that a session has taken the label or lost it.
- Without \`after\` it begins with the first event that is kept. To show a list and keep it true, read \`event_watermark\` of a page with \`limit=1\`, then
  the list of sessions, then the stream from there. The stream has all that the list missed.

## Deltas

With \`deltas=true\` a stream also has \`event: message.delta\`: words of a part as the agent says them, before they are in the log and never kept. A delta
has no \`id\`. The same words come in \`message.part_updated\` too, and \`offset\` tells a reader which of them it has. Some deltas may be missing.

## The types

${Object.entries(families)
  .map(([family, title]) => section(family, title))
  .join("\n")}
In the tables \`[Name]\` is a resource as the API answers with it, which \`/docs\` on your server describes.
`
}
