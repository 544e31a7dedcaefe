import { WebhooksApi } from "./WebhooksApi.js"

/** The endpoints of this room. */
export const groups = [WebhooksApi] as const

export { operationErrors as errors } from "./Errors.js"
