import { McpApi } from "./McpApi.js"

/** The endpoints of this room. */
export const groups = [McpApi] as const

export { operationErrors as errors } from "./Errors.js"
