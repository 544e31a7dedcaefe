import { ArtifactsApi, SessionArtifactsApi } from "./ArtifactsApi.js"

/** The endpoints of this room. */
export const groups = [SessionArtifactsApi, ArtifactsApi] as const

export { operationErrors as errors } from "./Errors.js"
