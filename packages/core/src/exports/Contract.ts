import { ExportsApi } from "./ExportsApi.js"

/** The endpoints of this room. */
export const groups = [ExportsApi] as const

export { operationErrors as errors } from "./Errors.js"
