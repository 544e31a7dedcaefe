import { ExecutorApi } from "./executor/ExecutorApi.js"

/** The endpoints of this room. */
export const groups = [ExecutorApi] as const

export { operationErrors as errors } from "./Errors.js"
