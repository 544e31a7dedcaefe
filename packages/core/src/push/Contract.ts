import { PushApi } from "./PushApi.js"

/** The endpoints of this room. */
export const groups = [PushApi] as const

export { operationErrors as errors } from "./Errors.js"
