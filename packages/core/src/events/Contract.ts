import { SessionEventsApi, WorkspaceEventsApi } from "./EventsApi.js"

/** The endpoints of this room. */
export const groups = [SessionEventsApi, WorkspaceEventsApi] as const

export { operationErrors as errors } from "./Errors.js"
