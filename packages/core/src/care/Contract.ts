import { CareApi } from "./CareApi.js"

/** The endpoints of this room. */
export const groups = [CareApi] as const

export { operationErrors as errors } from "./Errors.js"
