import { CapturesApi } from "./CapturesApi.js"
import { ApplicationsApi, ChangesetsApi, DeliveriesApi, MergeRequestsApi } from "./ChangesApi.js"
import { SigningKeysApi } from "./SigningKeysApi.js"

/** The endpoints of this room. */
export const groups = [
  CapturesApi,
  ChangesetsApi,
  ApplicationsApi,
  DeliveriesApi,
  MergeRequestsApi,
  SigningKeysApi
] as const

export { operationErrors as errors } from "./Errors.js"
