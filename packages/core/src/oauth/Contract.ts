import { OauthGrantsApi } from "./OauthApi.js"

/** The endpoints of this room. */
export const groups = [OauthGrantsApi] as const

export { operationErrors as errors } from "./Errors.js"
