import { CatalogApi } from "./CatalogApi.js"

/** The endpoints of this room. */
export const groups = [CatalogApi] as const

export { operationErrors as errors } from "./Errors.js"
