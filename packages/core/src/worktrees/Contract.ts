import { FilesApi } from "./FilesApi.js"

/** The endpoints of this room. */
export const groups = [FilesApi] as const

export { operationErrors as errors } from "./Errors.js"
