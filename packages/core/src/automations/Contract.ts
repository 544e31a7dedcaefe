import { AutomationsApi } from "./AutomationsApi.js"

/** The endpoints of this room. */
export const groups = [AutomationsApi] as const

export { operationErrors as errors } from "./Errors.js"
