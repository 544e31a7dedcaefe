import { ProjectsApi } from "./ProjectsApi.js"

/** The endpoints of this room. */
export const groups = [ProjectsApi] as const

export { operationErrors as errors } from "./Errors.js"
