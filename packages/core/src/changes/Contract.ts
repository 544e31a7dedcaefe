import { CapturesApi } from "./CapturesApi.js"
import { ApplicationsApi, ChangesetsApi, DeliveriesApi, MergeRequestsApi } from "./ChangesApi.js"

/** The endpoints of this room. */
export const groups = [CapturesApi, ChangesetsApi, ApplicationsApi, DeliveriesApi, MergeRequestsApi] as const

export { operationErrors as errors } from "./Errors.js"
