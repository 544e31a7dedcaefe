import { foreignName } from "@reins/base/base/ForeignText"

// The words in which GitLab says why it does not merge a merge request.

/** The reason that a word stands for. */
export interface MergeWord {
  /** True for one that goes away by itself. */
  readonly passes: boolean
  /** A sentence for people. */
  readonly say: string
}

const soon = (say: string): MergeWord => ({ passes: true, say })
const stays = (say: string): MergeWord => ({ passes: false, say })

const words: Readonly<Record<string, MergeWord>> = {
  unchecked: soon("GitLab has not computed yet if it merges."),
  checking: soon("GitLab is computing if it merges."),
  preparing: soon("GitLab is preparing the merge request."),
  approvals_syncing: soon("GitLab is counting its approvals."),
  ci_still_running: soon("Its pipeline has not ended."),
  not_approved: stays("It lacks an approval that the project demands."),
  requested_changes: stays("A reviewer asks for changes."),
  discussions_not_resolved: stays("A thread is not resolved, and the project demands that all are."),
  draft_status: stays("It is a draft. Mark it as ready."),
  merge_request_blocked: stays("Another merge request has to be merged before it."),
  blocked_status: stays("Another merge request has to be merged before it."),
  merge_time: stays("It may not be merged before a time that is set on its page."),
  locked_paths: stays("It changes paths that somebody has locked."),
  locked_lfs_files: stays("It changes files of LFS that somebody has locked."),
  title_regex: stays("Its title is not as the project demands."),
  jira_association_missing: stays("Its title or description names no issue of Jira, which the project demands."),
  conflict: stays("It conflicts with its base branch."),
  broken_status: stays("It cannot be merged: a branch is missing, or it conflicts with its base branch."),
  need_rebase: stays("The project wants it to be rebased onto its base branch first."),
  commits_status: stays("Its source branch is missing or has no commits."),
  ci_must_pass: stays("Its pipeline has to succeed before it is merged."),
  status_checks_must_pass: stays("A status check of another service has to pass before it is merged."),
  external_status_checks: stays("A status check of another service has to pass before it is merged."),
  security_policy_violations: stays("It violates a security policy of the project."),
  policies_denied: stays("It violates a policy of the project."),
  security_policy_pipeline_check: stays("The pipeline that a security policy demands has to succeed first."),
  not_open: stays("It is not open.")
}

/** The reason that a word of `detailed_merge_status` stands for; undefined for the word that it may be merged. A word that is not known is a reason too. */
export const mergeWordOf = (word: string): MergeWord | undefined => {
  if (word === "mergeable" || word === "can_be_merged") return undefined
  return Object.hasOwn(words, word) && words[word] !== undefined
    ? words[word]
    : stays(`GitLab gives the reason ${JSON.stringify(foreignName(word, 100))}. Its page says more.`)
}
