import { ToolCallsApi } from "./ToolCallsApi.js"

/** The endpoints of this room. */
export const groups = [ToolCallsApi] as const

export { operationErrors as errors } from "./Errors.js"
