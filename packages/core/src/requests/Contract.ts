import { ConditionsApi, VerdictsApi } from "./conditions/ConditionsApi.js"
import { DeliveryRequestsApi, MergeRequestsApi } from "./RequestsApi.js"

/** The endpoints of this room. */
export const groups = [DeliveryRequestsApi, MergeRequestsApi, ConditionsApi, VerdictsApi] as const

export { operationErrors as errors } from "./Errors.js"
