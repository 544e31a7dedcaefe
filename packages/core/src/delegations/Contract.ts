import { DelegateApi, DelegationsApi } from "./DelegationsApi.js"

/** The endpoints of this room. */
export const groups = [DelegationsApi, DelegateApi] as const

export { operationErrors as errors } from "./Errors.js"
