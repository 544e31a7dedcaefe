import { type EventType, isListed } from "@reins/base/domain/Event"
import { artifactEvents } from "./artifacts/Events.js"
import { careEvents } from "./care/Events.js"
import { changeEvents } from "./changes/Events.js"
import { delegationEvents } from "./delegations/Events.js"
import { deliveryEvents } from "./deliveries/Events.js"
import { parseTypes } from "./events/EventTypes.js"
import { agentEvents } from "./execution/Events.js"
import { mcpEvents } from "./mcp/Events.js"
import { mergeRequestEvents } from "./requests/Events.js"
import { sessionEvents } from "./sessions/Events.js"
import { shareEvents } from "./shares/Events.js"
import { worktreeEvents } from "./worktrees/Events.js"

// The types of the payloads come with the modules of the rooms, also where only declarations are read.
export {
  agentEvents,
  artifactEvents,
  careEvents,
  changeEvents,
  delegationEvents,
  deliveryEvents,
  mcpEvents,
  mergeRequestEvents,
  sessionEvents,
  shareEvents,
  worktreeEvents
}

/** Every type of event with its payload and its text. */
export const allEvents = {
  ...sessionEvents,
  ...shareEvents,
  ...agentEvents,
  ...worktreeEvents,
  ...changeEvents,
  ...deliveryEvents,
  ...mergeRequestEvents,
  ...careEvents,
  ...delegationEvents,
  ...artifactEvents,
  ...mcpEvents
} as const

export const eventTypes = Object.keys(allEvents).filter((type): type is EventType => type in allEvents)

/** The types of the stream of a workspace. */
export const workspaceEventTypes = eventTypes.filter(isListed)

/** The words that a webhook may ask for: these types, and all of one resource, as `turn.*`. */
export const webhookTypes: ReadonlyArray<string> = [
  ...workspaceEventTypes,
  ...new Set(workspaceEventTypes.map((type) => `${type.split(".")[0]}.*`))
]

/**
 * Reads a comma list of event types and of prefixes like `turn.*`. Undefined, for every type, when nothing was asked for. A name
 * that is no event type makes the request invalid.
 */
export const parseEventTypes = (text: string | undefined) => parseTypes(text, eventTypes, "is no event type")

/** The same for the types of the stream of a workspace. */
export const parseWorkspaceTypes = (text: string | undefined) =>
  parseTypes(text, workspaceEventTypes, "is no event type of the stream of a workspace")
