import { AccountsApi, ApiKeysApi } from "./AccountsApi.js"
import { WorkspacesApi } from "./WorkspacesApi.js"

/** The endpoints of this room. */
export const groups = [AccountsApi, ApiKeysApi, WorkspacesApi] as const

export { operationErrors as errors } from "./Errors.js"
