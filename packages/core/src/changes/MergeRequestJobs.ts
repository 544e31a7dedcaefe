/** The kind of the job that opens a merge request. */
export const openJobKind = "merge_request.open"

/** The kind of the job that merges one. */
export const mergeJobKind = "merge_request.merge"

/** The kind of the job that begins checks anew; its payload is `{check_ids}`. */
export const rerunJobKind = "merge_request.rerun"

/** A forge that limits requests may refuse several attempts before it takes one. */
export const maxAttempts = 8
