import { SessionSeenApi, WorkspaceWorkApi } from "./WorkApi.js"

/** The endpoints of this room. */
export const groups = [WorkspaceWorkApi, SessionSeenApi] as const

export { operationErrors as errors } from "./Errors.js"
