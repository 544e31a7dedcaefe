import { HooksApi } from "./HooksApi.js"

/** The endpoints of this room. */
export const groups = [HooksApi] as const

export { operationErrors as errors } from "./Errors.js"
