/** The kind of the job that opens a merge request. */
export const openJobKind = "merge_request.open"

/** The kind of the job that merges one. */
export const mergeJobKind = "merge_request.merge"

/** The kind of the job that begins checks anew; its payload is `{check_ids}`. */
export const rerunJobKind = "merge_request.rerun"

/** The kind of the job that makes a merge request a draft or ready for review, as its row says. */
export const readinessJobKind = "merge_request.readiness"

/** The kind of the job that writes a comment of a person; its payload is `{mark}`. */
export const replyRequestJobKind = "merge_request.reply"

/** A forge that limits requests may refuse several attempts before it takes one. */
export const maxAttempts = 8
