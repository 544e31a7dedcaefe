import { CapturesApi } from "./CapturesApi.js"
import { ApplicationsApi, ChangesetsApi } from "./ChangesApi.js"

/** The endpoints of this room. */
export const groups = [CapturesApi, ChangesetsApi, ApplicationsApi] as const

export { operationErrors as errors } from "./Errors.js"
