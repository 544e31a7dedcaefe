import { JobsApi } from "./JobsApi.js"

/** The endpoints of this room. */
export const groups = [JobsApi] as const

export { operationErrors as errors } from "./Errors.js"
