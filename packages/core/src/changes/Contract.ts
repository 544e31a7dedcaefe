import { CapturesApi } from "./CapturesApi.js"
import { ApplicationsApi, ChangesetsApi, DeliveriesApi, MergeRequestsApi } from "./ChangesApi.js"
import { ConditionsApi, VerdictsApi } from "./conditions/ConditionsApi.js"
import { SigningKeysApi } from "./SigningKeysApi.js"

/** The endpoints of this room. */
export const groups = [
  CapturesApi,
  ChangesetsApi,
  ApplicationsApi,
  DeliveriesApi,
  MergeRequestsApi,
  ConditionsApi,
  VerdictsApi,
  SigningKeysApi
] as const

export { operationErrors as errors } from "./Errors.js"
