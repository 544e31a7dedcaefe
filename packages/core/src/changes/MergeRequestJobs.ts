/** The kind of the job that opens a merge request. */
export const openJobKind = "merge_request.open"

/** The kind of the job that merges one. */
export const mergeJobKind = "merge_request.merge"

/** A forge that limits requests may refuse several attempts before it takes one. */
export const maxAttempts = 8
