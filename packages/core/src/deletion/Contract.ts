import { DeletionsApi, ProjectDeletionsApi, ReceiptsApi } from "./DeletionsApi.js"

/** The endpoints of this room. */
export const groups = [DeletionsApi, ReceiptsApi, ProjectDeletionsApi] as const

export { operationErrors as errors } from "./Errors.js"
