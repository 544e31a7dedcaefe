import { AccountDeletionsApi, DeletionsApi, ProjectDeletionsApi, ReceiptsApi } from "./DeletionsApi.js"

/** The endpoints of this room. */
export const groups = [DeletionsApi, ReceiptsApi, ProjectDeletionsApi, AccountDeletionsApi] as const

export { operationErrors as errors } from "./Errors.js"
