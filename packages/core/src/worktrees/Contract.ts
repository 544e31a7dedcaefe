import { FilesApi } from "./FilesApi.js"
import { RepositoriesApi } from "./RepositoryCheck.js"

/** The endpoints of this room. */
export const groups = [FilesApi, RepositoriesApi] as const

export { operationErrors as errors } from "./Errors.js"
