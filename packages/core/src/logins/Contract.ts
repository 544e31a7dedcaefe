import { ConnectionLoginsApi } from "./LoginsApi.js"

/** The endpoints of this room. */
export const groups = [ConnectionLoginsApi] as const

export { operationErrors as errors } from "./Errors.js"
