import { ConnectionsApi } from "./ConnectionsApi.js"

/** The endpoints of this room. */
export const groups = [ConnectionsApi] as const

export { operationErrors as errors } from "./Errors.js"
