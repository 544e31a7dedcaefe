import { SessionSharesApi, SharedApi, SharesApi } from "./SharesApi.js"

/** The endpoints of this room. */
export const groups = [SessionSharesApi, SharesApi, SharedApi] as const

export { operationErrors as errors } from "./Errors.js"
