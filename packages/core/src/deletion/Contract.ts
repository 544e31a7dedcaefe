import { DeletionsApi, ReceiptsApi } from "./DeletionsApi.js"

/** The endpoints of this room. */
export const groups = [DeletionsApi, ReceiptsApi] as const

export { operationErrors as errors } from "./Errors.js"
